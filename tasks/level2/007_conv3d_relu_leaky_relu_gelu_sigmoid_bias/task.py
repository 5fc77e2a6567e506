import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Convolution, then ReLU, leaky ReLU, GELU and the logistic function in turn, and a bias per channel.

    y = sigmoid(gelu(leaky_relu(relu(conv3d(x))))) + bias; leaky_relu leaves what relu returns as it is
    """

    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        y = F.leaky_relu(torch.relu(self.conv(x)), negative_slope=0.01)
        return torch.sigmoid(F.gelu(y)) + self.bias


batch_size = 64
in_channels = 8
out_channels = 32
depth = 32
height = 64
width = 64
kernel_size = 3
bias_shape = (out_channels, 1, 1, 1)


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, bias_shape]
