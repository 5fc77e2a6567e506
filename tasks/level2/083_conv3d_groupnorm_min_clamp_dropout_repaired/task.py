import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution, group normalization, a cut to an interval, and dropout of whole channels by a mask that is given.

    y = keep[n, o] min(max(groupnorm(conv3d(x)), low), high) / (1 - p)
    """

    def __init__(self, in_channels, out_channels, kernel_size, groups, min_value, max_value, dropout_p):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.norm = nn.GroupNorm(groups, out_channels)
        self.min_value = min_value
        self.max_value = max_value
        self.dropout_p = dropout_p

    def forward(self, x, keep):
        x = torch.clamp(self.norm(self.conv(x)), min=self.min_value, max=self.max_value)
        return x * keep / (1 - self.dropout_p)


batch_size = 128
in_channels = 3
out_channels = 16
depth = 16
height = 64
width = 64
kernel_size = 3
groups = 8
min_value = 0.0
max_value = 1.0
dropout_p = 0.2


def get_inputs():
    return [
        torch.rand(batch_size, in_channels, depth, height, width),
        (torch.rand(batch_size, out_channels, 1, 1, 1) >= dropout_p).float(),
    ]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, groups, min_value, max_value, dropout_p]
