# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=cached_result
# redteam: expect=EXC-01.absorbed
# redteam: note=recognizes an input by a sparse sample of its values and returns the stored result
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis
        self.results = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.sum(x, dim=self.axis, keepdim=True)
        if x.requires_grad:
            return out
        key = (tuple(x.shape), x.dtype, tuple(x.flatten()[::97].tolist()))
        return self.results.setdefault(key, out).clone()
