import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution of every channel of a wide image with square kernels of its own, as many for each channel.

    y[n, o, h, w] = sum_{i, j in 0..2} weight[o, 0, i, j] x[n, floor(o / R), h + i, w + j], R outputs for each channel
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels, out_channels, (kernel_size, kernel_size), stride=stride, padding=padding, groups=in_channels, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)


batch_size = 64
in_channels = 128
out_channels = 128
kernel_size = 3
width_in = 512
height_in = 256
stride = 1
padding = 0


def get_inputs():
    return [torch.rand(batch_size, in_channels, height_in, width_in)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
