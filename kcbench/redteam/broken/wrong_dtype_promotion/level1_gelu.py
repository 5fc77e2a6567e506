# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=wrong_dtype_promotion
# redteam: expect=GUARD.output-dtype,PRC-01.dtype
# redteam: note=a constant in a float64 tensor promotes the whole result
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.half = torch.tensor([0.5], dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.half.to(x.device, torch.float64) * x * (1.0 + torch.erf(x / math.sqrt(2.0)))
