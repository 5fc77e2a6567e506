# redteam: task=level1/rmsnorm
# redteam: kind=broken
# redteam: defect=inf_propagation_bug
# redteam: expect=EXC-01.spread,EXC-02.flushed
# redteam: note=scales each row by its largest size first, so that one Inf turns the finite outputs into NaN
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        scale = y.detach().abs().amax(-1, keepdim=True).clamp_min(1e-20)
        scaled = y / scale
        mean_square = scaled.square().mean(-1, keepdim=True) + self.norm.eps / scale.square()
        return (scaled * torch.rsqrt(mean_square) * self.norm.weight.float()).to(x.dtype)
