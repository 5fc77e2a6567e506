import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution of a square image with wide dilated kernels, padded.

    y[n, o, h, w] = sum_{c, i, j} weight[o, c, i, j] x[n, c, h + 2i - 2, w + 3j - 4], i in 0..4, j in 0..8, 0 beyond the border
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: int = 1,
        padding: tuple = (0, 0),
        dilation: tuple = (1, 1),
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)


batch_size = 8
in_channels = 32
out_channels = 64
kernel_height = 5
kernel_width = 9
kernel_size = (kernel_height, kernel_width)
width = 512
height = 512
stride = 1
padding_height = 2
padding_width = 4
padding = (padding_height, padding_width)
dilation_height = 2
dilation_width = 3
dilation = (dilation_height, dilation_width)


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, dilation]
