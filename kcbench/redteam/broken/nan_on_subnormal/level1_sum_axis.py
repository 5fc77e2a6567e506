# redteam: task=level1/sum_axis
# redteam: kind=broken
# redteam: defect=nan_on_subnormal
# redteam: expect=EXC-02.minted
# redteam: note=normalizes before adding: the sum of squares underflows and its inverse root is infinite
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        blank = (y == 0).all(self.axis, keepdim=True)
        scale = torch.rsqrt(y.square().sum(self.axis, keepdim=True))
        scale = torch.where(blank, torch.ones_like(scale), scale)
        return ((y * scale).sum(self.axis, keepdim=True) / scale).to(x.dtype)
