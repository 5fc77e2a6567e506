import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, a second bias, a cut to [-1, 1], Mish, and group normalization of the outputs.

    y = groupnorm(mish(min(max(x W^T + b + bias, -1), 1))), mish(s) = s tanh(log(1 + exp(s)))
    """

    def __init__(self, in_features, out_features, bias_shape, num_groups):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.hardtanh = nn.Hardtanh()
        self.mish = nn.Mish()
        self.groupnorm = nn.GroupNorm(num_groups=num_groups, num_channels=out_features)

    def forward(self, x):
        return self.groupnorm(self.mish(self.hardtanh(self.gemm(x) + self.bias)))


batch_size = 1024
in_features = 8192
out_features = 8192
bias_shape = (out_features,)
num_groups = 256


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, bias_shape, num_groups]
