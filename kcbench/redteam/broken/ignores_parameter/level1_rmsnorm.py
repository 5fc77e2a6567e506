# redteam: task=level1/rmsnorm
# redteam: kind=broken
# redteam: defect=ignores_parameter
# redteam: expect=CMP-01.value
# redteam: note=ignores the weight, which a fresh layer has at one
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, self.norm.normalized_shape, None, self.norm.eps)
