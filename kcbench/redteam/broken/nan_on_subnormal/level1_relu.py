# redteam: task=level1/relu
# redteam: kind=broken
# redteam: defect=nan_on_subnormal
# redteam: expect=EXC-02.minted
# redteam: note=gets the sign from x times 1 / |x|, which is infinite for subnormal x
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        sign = torch.where(y == 0, y, torch.round(y * (1.0 / y.abs())))
        return (0.5 * y * (1.0 + sign)).to(x.dtype)
