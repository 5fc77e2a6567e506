import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, swish, a second bias, and group normalisation.

    y = group_norm(s sigmoid(s) + bias), s = x W^T + b
    """

    def __init__(self, in_features, out_features, num_groups, bias_shape):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.group_norm = nn.GroupNorm(num_groups, out_features)

    def forward(self, x):
        y = self.matmul(x)
        return self.group_norm(torch.sigmoid(y) * y + self.bias)


batch_size = 32768
in_features = 1024
out_features = 4096
num_groups = 64
bias_shape = (out_features,)


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, num_groups, bias_shape]
