import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution of a wide image with wide kernels.

    y[n, o, h, w] = sum_{c, i, j} weight[c, o, i, j] x[n, c, h - i, w - j], i in 0..2, j in 0..4, 0 beyond the border
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple = (1, 1),
        padding: tuple = (0, 0),
        output_padding: tuple = (0, 0),
        dilation: tuple = (1, 1),
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose2d(x)


batch_size = 64
in_channels = 64
out_channels = 128
kernel_height = 3
kernel_width = 5
kernel_size = (kernel_height, kernel_width)
height_in = 128
width_in = 256


def get_inputs():
    return [torch.rand(batch_size, in_channels, height_in, width_in)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
