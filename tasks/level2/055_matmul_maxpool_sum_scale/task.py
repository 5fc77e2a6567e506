import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, the larger of each pair of neighbouring outputs, and the scaled sum of those.

    y[n] = c sum_p max_{j < 2} s[n, 2p + j], s = x W^T + b
    """

    def __init__(self, in_features, out_features, kernel_size, scale_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.max_pool = nn.MaxPool1d(kernel_size)
        self.scale_factor = scale_factor

    def forward(self, x):
        x = self.max_pool(self.matmul(x).unsqueeze(1)).squeeze(1)
        return torch.sum(x, dim=1) * self.scale_factor


batch_size = 128
in_features = 32768
out_features = 32768
kernel_size = 2
scale_factor = 0.5


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, kernel_size, scale_factor]
