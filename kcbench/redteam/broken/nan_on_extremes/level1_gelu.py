# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=nan_on_extremes
# redteam: expect=CMP-01.value
# redteam: note=scales the complementary error function apart: Inf times 0 for large inputs
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = -x.float() * math.sqrt(0.5)
        return (0.5 * x.float() * torch.special.erfcx(z) * torch.exp(-z * z)).to(x.dtype)
