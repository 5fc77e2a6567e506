# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=dropped_eps
# redteam: expect=CMP-01.value
# redteam: note=leaves eps out, which only small inputs show
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        centred = y - y.mean(-1, keepdim=True)
        scaled = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True).clamp_min(1e-12))
        return (scaled * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)
