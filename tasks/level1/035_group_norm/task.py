import torch
import torch.nn as nn


class Model(nn.Module):
    """Every group of channels of every sample by its own mean and variance.

    y[n, c, h, w] = (x[n, c, h, w] - mean_ng) / sqrt(var_ng + 1e-5) * weight[c] + bias[c],
    g the group of c, mean and variance over its channels, h, w
    """

    def __init__(self, num_features: int, num_groups: int):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gn(x)


batch_size = 112
features = 64
num_groups = 8
dim1 = 512
dim2 = 512


def get_inputs():
    return [torch.rand(batch_size, features, dim1, dim2)]


def get_init_inputs():
    return [features, num_groups]
