# redteam: task=level1/softmax
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=right forward; the backward leaves out the coupling between the outputs of a row
import torch
import torch.nn as nn


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.softmax(x, dim=1)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad * out * (1 - out)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Softmax.apply(x)
