import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Logarithm of the sum of the exponentials of a linear layer's outputs, through LeakyReLU twice and GELU twice.

    y[n, 0] = gelu(gelu(leaky_relu(leaky_relu(log sum_o exp(b[o] + sum_k W[o, k] x[n, k])))))
    """

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=bias)

    def forward(self, x):
        x = torch.logsumexp(self.linear(x), dim=1, keepdim=True)
        x = F.leaky_relu(F.leaky_relu(x, negative_slope=0.01), negative_slope=0.01)
        return F.gelu(F.gelu(x))


batch_size = 1024
in_features = 8192
out_features = 8192


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
