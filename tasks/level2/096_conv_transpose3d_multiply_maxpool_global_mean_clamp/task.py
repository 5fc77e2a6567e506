import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution, a factor, max pooling, the mean of each channel, cut to [0, 1].

    y[n, o, 0, 0, 0] = min(max(mean_{d, h, w} maxpool(c conv_transpose3d(x))[n, o, d, h, w], 0), 1)
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, scale, maxpool_kernel_size):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.scale = scale
        self.maxpool = nn.MaxPool3d(kernel_size=maxpool_kernel_size)
        self.global_avg_pool = nn.AdaptiveAvgPool3d((1, 1, 1))

    def forward(self, x):
        x = self.global_avg_pool(self.maxpool(self.conv_transpose(x) * self.scale))
        return torch.clamp(x, min=0, max=1)


batch_size = 128
in_channels = 3
out_channels = 16
depth = 16
height = 32
width = 32
kernel_size = 3
stride = 2
padding = 1
scale = 0.5
maxpool_kernel_size = 2


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, scale, maxpool_kernel_size]
