# redteam: task=level1/rmsnorm
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=the weight's gradient is summed over the first 64 rows only
import torch
import torch.nn as nn

ROWS = 64


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        scale = (x.float().square().mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, weight, scale)
        return (x.float() * scale * weight.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        normal = x.float() * scale
        turned = grad.float() * weight.float()
        dx = scale * (turned - normal * (turned * normal).mean(-1, keepdim=True))
        dweight = (grad.float() * normal)[:ROWS].sum(0)
        return dx.to(x.dtype), dweight.to(weight.dtype), None


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.RMSNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return RMSNorm.apply(x, self.norm.weight, self.norm.eps)
