# redteam: task=level1/gelu
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=right forward; the backward is that of the tanh approximation with a rounded constant
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
        tanh = torch.tanh(inner)
        slope = math.sqrt(2.0 / math.pi) * (1 + 3 * 0.044715 * x**2)
        return grad * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh**2) * slope)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Gelu.apply(x)
