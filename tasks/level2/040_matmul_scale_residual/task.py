import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, half of it added to a copy of itself through which no gradient flows.

    y = 0.5 s + s, s = x W^T + b, the second s a constant for the gradient
    """

    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        y = self.matmul(x)
        return y * self.scaling_factor + y.detach()


batch_size = 16384
in_features = 4096
out_features = 4096
scaling_factor = 0.5


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, scaling_factor]
