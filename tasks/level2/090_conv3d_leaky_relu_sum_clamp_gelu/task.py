import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Convolution, LeakyReLU, a number added per channel, a cut to [-1, 1], then GELU.

    y = gelu(min(max(leaky_relu(conv3d(x)) + t[o], -1), 1))
    """

    def __init__(self, in_channels, out_channels, kernel_size, sum_tensor_shape):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.sum_tensor = nn.Parameter(torch.randn(sum_tensor_shape))

    def forward(self, x):
        x = F.leaky_relu(self.conv(x), negative_slope=0.2) + self.sum_tensor
        return F.gelu(torch.clamp(x, min=-1.0, max=1.0))


batch_size = 128
in_channels = 8
out_channels = 64
depth = 16
height = 64
width = 64
kernel_size = 3
sum_tensor_shape = (out_channels, 1, 1, 1)


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, sum_tensor_shape]
