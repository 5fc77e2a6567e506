import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution and bias, clamped to [0, 1], doubled, clamped again, and halved.

    y = clamp(s clamp(conv_transpose2d(x) + bias, 0, 1), 0, 1) / s
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape, scaling_factor):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride, padding, output_padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scaling_factor = scaling_factor

    def forward(self, x):
        y = torch.clamp(self.conv_transpose(x) + self.bias, 0.0, 1.0)
        return torch.clamp(y * self.scaling_factor, 0.0, 1.0) / self.scaling_factor


batch_size = 128
in_channels = 64
out_channels = 64
height = 128
width = 128
kernel_size = 3
stride = 2
padding = 1
output_padding = 1
bias_shape = (out_channels, 1, 1)
scaling_factor = 2.0


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape, scaling_factor]
