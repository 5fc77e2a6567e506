import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution of a cubic volume with kernels of three different sides.

    y[n, o, w, h, d] = sum_{c, i, j, k} weight[o, c, i, j, k] x[n, c, w + i, h + j, d + k], i in 0..2, j in 0..4, k in 0..6
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
        self.conv3d = nn.Conv3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv3d(x)


batch_size = 16
in_channels = 3
out_channels = 64
kernel_width = 3
kernel_height = 5
kernel_depth = 7
kernel_size = (kernel_width, kernel_height, kernel_depth)
width = 64
height = 64
depth = 64


def get_inputs():
    return [torch.rand(batch_size, in_channels, width, height, depth)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
