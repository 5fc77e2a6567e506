# redteam: task=level1/matmul
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=right forward; the gradient of B is reduced over whole blocks of 16 rows and drops the rest
import torch
import torch.nn as nn

BLOCK = 16


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A, B):
        ctx.save_for_backward(A, B)
        return A @ B

    @staticmethod
    def backward(ctx, grad):
        A, B = ctx.saved_tensors
        rows = len(A) // BLOCK * BLOCK
        return grad @ B.t(), A[:rows].t() @ grad[:rows]


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return Product.apply(A, B)
