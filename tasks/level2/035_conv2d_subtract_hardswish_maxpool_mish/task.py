import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Convolution minus a number, hard swish, max pooling, and Mish.

    y = mish(max_pool2d(hardswish(conv2d(x) - 0.5)))
    """

    def __init__(self, in_channels, out_channels, kernel_size, subtract_value, pool_kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.subtract_value = subtract_value
        self.pool_kernel_size = pool_kernel_size

    def forward(self, x):
        y = F.hardswish(self.conv(x) - self.subtract_value)
        return F.mish(F.max_pool2d(y, self.pool_kernel_size))


batch_size = 128
in_channels = 64
out_channels = 128
height = 128
width = 128
kernel_size = 3
subtract_value = 0.5
pool_kernel_size = 2


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, subtract_value, pool_kernel_size]
