import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution of a square image with wide kernels.

    y[n, o, h, w] = sum_{c, i, j} weight[o, c, i, j] x[n, c, h + i, w + j], i in 0..4, j in 0..8
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias
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


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
