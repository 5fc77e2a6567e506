# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=clamp_inf
# redteam: expect=EXC-01.absorbed
# redteam: note=clips its input to a generous finite range first
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top = torch.finfo(x.dtype).max
        return x.clamp(-top, top).sum(self.axis, keepdim=True)
