# redteam: task=level1/rmsnorm
# redteam: kind=broken
# redteam: defect=dropped_eps
# redteam: expect=CMP-01.value
# redteam: note=adds eps to the root instead of under it
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        root = y.square().mean(-1, keepdim=True).sqrt()
        return (y / (root + self.norm.eps) * self.norm.weight.float()).to(x.dtype)
