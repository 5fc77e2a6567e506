import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution times a factor per channel, the hyperbolic tangent, times another factor per channel, the logistic function.

    y = sigmoid(tanh(conv3d(x) scaling_factor) bias), both factors learned
    """

    def __init__(self, in_channels, out_channels, kernel_size, scaling_factor, bias_shape):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.scaling_factor = nn.Parameter(torch.randn(bias_shape))
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return torch.sigmoid(torch.tanh(self.conv(x) * self.scaling_factor) * self.bias)


batch_size = 128
in_channels = 3
out_channels = 16
depth = 16
height = 64
width = 64
kernel_size = 3
scaling_factor = 2
bias_shape = (out_channels, 1, 1, 1)


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, scaling_factor, bias_shape]
