# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=ignores_parameter
# redteam: expect=CMP-01.value
# redteam: note=ignores the bias, which a fresh layer has at zero
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.norm.normalized_shape, self.norm.weight, None, self.norm.eps)
