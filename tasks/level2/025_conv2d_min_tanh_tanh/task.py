import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution, its smallest channel, and the hyperbolic tangent applied twice.

    y[n, h, w] = tanh(tanh(min_c conv2d(x)[n, c, h, w]))
    """

    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        return torch.tanh(torch.tanh(torch.min(self.conv(x), dim=1, keepdim=True)[0]))


batch_size = 128
in_channels = 16
out_channels = 64
height = 256
width = 256
kernel_size = 3


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
