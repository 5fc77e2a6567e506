import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution, max pooling, softmax over channels, minus a number per channel, Swish, and the largest channel.

    y = max_o swish(softmax_o(maxpool(conv_transpose3d(x))) - s[o]), swish(z) = z sigmoid(z)
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        output_padding,
        pool_kernel_size,
        pool_stride,
        pool_padding,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, output_padding=output_padding
        )
        self.max_pool = nn.MaxPool3d(kernel_size=pool_kernel_size, stride=pool_stride, padding=pool_padding)
        self.subtract = nn.Parameter(torch.randn(out_channels))

    def forward(self, x):
        x = torch.softmax(self.max_pool(self.conv_transpose(x)), dim=1) - self.subtract.view(1, -1, 1, 1, 1)
        return torch.max(torch.sigmoid(x) * x, dim=1)[0]


batch_size = 128
in_channels = 3
out_channels = 16
depth = 16
height = 32
width = 32
kernel_size = 3
stride = 2
padding = 1
output_padding = 1
pool_kernel_size = 2
pool_stride = 2
pool_padding = 0


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, output_padding, pool_kernel_size, pool_stride, pool_padding]
