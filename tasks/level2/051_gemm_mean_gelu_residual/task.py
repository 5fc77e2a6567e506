import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Mean output of a linear layer after a subtraction, through GELU, added to every input; the sum through which the gradient
    flows leaves the input itself out.

    y[n, i] = gelu((1/O) sum_o (b[o] + sum_k W[o, k] x[n, k] - s[o])) + x[n, i]
    """

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=bias)
        self.subtract = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        residual = x.clone().detach()
        x = torch.mean(self.gemm(x) - self.subtract, dim=1, keepdim=True)
        x = F.gelu(torch.logsumexp(x, dim=1, keepdim=True))
        return x + residual


batch_size = 2048
in_features = 8192
out_features = 8192


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
