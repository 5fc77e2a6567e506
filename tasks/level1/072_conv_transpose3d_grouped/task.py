import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution of a volume, strided, padded, and in four groups of channels.

    y[n, o, 2d + i - 1, 2h + j - 2, 2w + k - 3] += weight[c, o mod G, i, j, k] x[n, c, d, h, w] for all c in the group of o,
    G outputs in a group, i in 0..2, j in 0..4, k in 0..6, one more place on the far side of each dimension
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple = (1, 1, 1),
        padding: tuple = (0, 0, 0),
        output_padding: tuple = (0, 0, 0),
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose3d(x)


batch_size = 8
in_channels = 32
out_channels = 32
kernel_depth = 3
kernel_height = 5
kernel_width = 7
kernel_size = (kernel_depth, kernel_height, kernel_width)
depth = 12
height = 24
width = 48
step = 2
stride = (step, step, step)
padding_height = 2
padding_width = 3
padding = (1, padding_height, padding_width)
output_padding = (1, 1, 1)
groups = 4


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding, output_padding, groups]
