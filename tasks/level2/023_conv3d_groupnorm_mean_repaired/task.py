import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution, group normalisation, and the mean over the channels at each place.

    y[n, d, h, w] = mean_c group_norm(conv3d(x))[n, c, d, h, w]
    """

    def __init__(self, in_channels, out_channels, kernel_size, num_groups):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        return self.group_norm(self.conv(x)).mean(dim=1)


batch_size = 128
in_channels = 3
out_channels = 24
D = 24
H = 32
W = 32
kernel_size = 3
num_groups = 8


def get_inputs():
    return [torch.rand(batch_size, in_channels, D, H, W)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, num_groups]
