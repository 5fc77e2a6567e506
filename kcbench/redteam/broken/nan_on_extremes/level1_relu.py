# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=nan_on_extremes
# redteam: expect=EXC-01.spread
# redteam: note=half of x + |x|: -Inf + Inf is NaN where 0 is due
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (0.5 * (x.float() + x.float().abs())).to(x.dtype)
