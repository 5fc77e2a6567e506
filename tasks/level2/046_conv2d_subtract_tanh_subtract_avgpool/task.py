import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Convolution minus a number, the hyperbolic tangent minus another, and average pooling.

    y = avg_pool2d(tanh(conv2d(x) - 0.5) - 0.2)
    """

    def __init__(self, in_channels, out_channels, kernel_size, subtract1_value, subtract2_value, kernel_size_pool):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.subtract1_value = subtract1_value
        self.subtract2_value = subtract2_value
        self.kernel_size_pool = kernel_size_pool

    def forward(self, x):
        y = torch.tanh(self.conv(x) - self.subtract1_value) - self.subtract2_value
        return F.avg_pool2d(y, self.kernel_size_pool)


batch_size = 128
in_channels = 64
out_channels = 128
height = 128
width = 128
kernel_size = 3
subtract1_value = 0.5
subtract2_value = 0.2
kernel_size_pool = 2


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, subtract1_value, subtract2_value, kernel_size_pool]
