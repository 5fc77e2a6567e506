# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=one_pass_variance
# redteam: expect=ORD-03.cancellation
# redteam: note=mean of squares minus square of the mean, in float32
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        mean = y.mean(-1, keepdim=True)
        variance = (y.square().mean(-1, keepdim=True) - mean.square()).clamp_min(0.0)
        scaled = (y - mean) * torch.rsqrt(variance + self.norm.eps)
        return (scaled * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)
