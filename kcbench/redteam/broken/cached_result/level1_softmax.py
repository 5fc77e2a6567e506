# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=cached_result
# redteam: expect=EXC-01.absorbed
# redteam: note=recognizes an input by its shape, first and last value and returns the stored result
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.results = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0 or x.requires_grad:
            return torch.softmax(x, dim=1)
        key = (tuple(x.shape), x.dtype, float(x[0, 0]), float(x[-1, -1]))
        if key not in self.results:
            self.results[key] = torch.softmax(x, dim=1)
        return self.results[key].clone()
