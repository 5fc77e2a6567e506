import torch
import torch.nn as nn


class Model(nn.Module):
    """Transposed convolution of a wide image with wide kernels, padded so that its size stays.

    y[n, o, h, w] = sum_{c, i, j} weight[c, o, i, j] x[n, c, h + 1 - i, w + 3 - j], i in 0..2, j in 0..6, 0 beyond the border
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple = (1, 1),
        padding: tuple = (0, 0),
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose2d(x)


batch_size = 8
in_channels = 32
out_channels = 32
kernel_height = 3
kernel_width = 7
kernel_size = (kernel_height, kernel_width)
height = 512
width = 1024
stride = (1, 1)
padding_width = 3
padding = (1, padding_width)


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
