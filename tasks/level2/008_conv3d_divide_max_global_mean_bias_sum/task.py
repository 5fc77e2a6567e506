import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Convolution over a divisor, max pooling, the mean over each channel plus its bias, and the sum of these over the channels.

    y[n] = sum_c (mean_{d, h, w} max_pool3d(conv3d(x) / divisor)[n, c, d, h, w] + bias[c])
    """

    def __init__(self, in_channels, out_channels, kernel_size, divisor, pool_size, bias_shape, sum_dim):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.divisor = divisor
        self.pool_size = pool_size
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.sum_dim = sum_dim

    def forward(self, x):
        y = F.max_pool3d(self.conv(x) / self.divisor, self.pool_size)
        return torch.sum(F.adaptive_avg_pool3d(y, 1) + self.bias, dim=self.sum_dim)


batch_size = 128
in_channels = 8
out_channels = 16
depth = 16
height = 64
width = 64
kernel_size = (3, 3, 3)
divisor = 2.0
pool_size = (2, 2, 2)
bias_shape = (out_channels, 1, 1, 1)
sum_dim = 1


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, divisor, pool_size, bias_shape, sum_dim]
