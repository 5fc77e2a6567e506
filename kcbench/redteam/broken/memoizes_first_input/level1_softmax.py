# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=memoizes_first_input
# redteam: expect=CMP-01.input-blind,CMP-01.value,GUARD.stateful
# redteam: note=returns the first result it computed for a shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = (tuple(x.shape), x.dtype)
        if key not in self.first:
            self.first[key] = torch.softmax(x.detach(), dim=1)
        return self.first[key].clone()
