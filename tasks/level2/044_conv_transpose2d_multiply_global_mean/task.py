import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution times a number, and its mean over each channel; a second mean of that one number changes nothing.

    y[n, c] = mean_{h, w} 0.5 conv_transpose2d(x)[n, c, h, w]
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, multiplier):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride, padding, output_padding)
        self.multiplier = multiplier

    def forward(self, x):
        y = torch.mean(self.conv_transpose(x) * self.multiplier, dim=(2, 3), keepdim=True)
        return torch.mean(y, dim=(2, 3), keepdim=True)


batch_size = 16
in_channels = 64
out_channels = 128
height = 128
width = 128
kernel_size = 3
stride = 2
padding = 1
output_padding = 1
multiplier = 0.5


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, output_padding, multiplier]
