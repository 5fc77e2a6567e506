import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution, max pooling, clamping to [-1, 1], the mean over each channel, and the hyperbolic tangent.

    y[n, c] = tanh(mean_{h, w} clamp(max_pool2d(conv_transpose2d(x)), -1, 1)[n, c, h, w])
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        maxpool_kernel_size,
        maxpool_stride,
        hardtanh_min,
        hardtanh_max,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride, padding)
        self.maxpool = nn.MaxPool2d(maxpool_kernel_size, maxpool_stride)
        self.hardtanh = nn.Hardtanh(hardtanh_min, hardtanh_max)

    def forward(self, x):
        y = self.hardtanh(self.maxpool(self.conv_transpose(x)))
        return torch.tanh(torch.mean(y, dim=(2, 3), keepdim=True))


batch_size = 128
in_channels = 64
out_channels = 64
height = 256
width = 256
kernel_size = 3
stride = 1
padding = 1
maxpool_kernel_size = 2
maxpool_stride = 2
hardtanh_min = -1
hardtanh_max = 1


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        maxpool_kernel_size,
        maxpool_stride,
        hardtanh_min,
        hardtanh_max,
    ]
