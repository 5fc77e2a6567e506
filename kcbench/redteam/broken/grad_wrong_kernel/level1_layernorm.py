# redteam: task=level1/layernorm
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=right forward; the backward treats the standard deviation as a constant
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        centred = y - y.mean(-1, keepdim=True)
        rstd = torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.norm.eps).detach()
        return (centred * rstd * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)
