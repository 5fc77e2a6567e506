import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution, its smallest value over the depth, and softmax over the channels.

    y = softmax(min_d conv3d(x)[n, c, d, h, w], channels)
    """

    def __init__(self, in_channels, out_channels, kernel_size, dim):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.dim = dim

    def forward(self, x):
        return torch.softmax(torch.min(self.conv(x), dim=self.dim)[0], dim=1)


batch_size = 128
in_channels = 3
out_channels = 24
D = 24
H = 32
W = 32
kernel_size = 3
dim = 2


def get_inputs():
    return [torch.rand(batch_size, in_channels, D, H, W)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, dim]
