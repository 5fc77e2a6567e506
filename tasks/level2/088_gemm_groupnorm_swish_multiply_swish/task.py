import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, group normalization of its outputs, Swish, a factor per output, and Swish again.

    y = swish(m[o] swish(groupnorm(x W^T + b))), swish(s) = s sigmoid(s)
    """

    def __init__(self, in_features, out_features, num_groups, multiply_weight_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.group_norm = nn.GroupNorm(num_groups, out_features)
        self.multiply_weight = nn.Parameter(torch.randn(multiply_weight_shape))

    def forward(self, x):
        x = self.group_norm(self.gemm(x))
        x = x * torch.sigmoid(x) * self.multiply_weight
        return x * torch.sigmoid(x)


batch_size = 1024
in_features = 8192
out_features = 8192
num_groups = 256
multiply_weight_shape = (out_features,)


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, num_groups, multiply_weight_shape]
