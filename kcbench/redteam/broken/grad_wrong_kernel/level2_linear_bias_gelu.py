# redteam: task=level2/linear_bias_gelu
# redteam: kind=broken
# redteam: defect=grad_wrong_kernel
# redteam: expect=CMP-02.vjp
# redteam: note=right forward; the bias gets the mean of the rows' gradients instead of their sum
import torch
import torch.nn as nn
import torch.nn.functional as F


class BiasAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y, bias):
        return y + bias

    @staticmethod
    def backward(ctx, grad):
        return grad, grad.mean(0)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(BiasAdd.apply(x @ self.linear.weight.t(), self.linear.bias))
