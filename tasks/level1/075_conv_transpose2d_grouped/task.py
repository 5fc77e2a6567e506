import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution of a wide image, strided, padded, dilated, and in four groups of channels.

    y[n, o, 2h + 2i - 1, 3w + j - 2] += weight[c, o mod G, i, j] x[n, c, h, w] for all c in the group of o,
    G outputs in a group, i in 0..2, j in 0..4
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple = (1, 1),
        padding: tuple = (0, 0),
        dilation: tuple = (1, 1),
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose2d(x)


batch_size = 16
in_channels = 32
out_channels = 64
kernel_height = 3
kernel_width = 5
kernel_size = (kernel_height, kernel_width)
height = 128
width = 256
stride_height = 2
stride_width = 3
stride = (stride_height, stride_width)
padding_width = 2
padding = (1, padding_width)
dilation_height = 2
dilation = (dilation_height, 1)
groups = 4


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, dilation, groups]
