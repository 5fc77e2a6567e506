import torch
import torch.nn as nn


class Model(nn.Module):
    """Largest value of every window of an image; what lies beyond the border never wins.

    y[n, c, h, w] = max over i, j in 0..3 of x[n, c, h + i - 1, w + j - 1], -inf beyond the border
    """

    def __init__(self, kernel_size: int, stride: int, padding: int, dilation: int):
        super().__init__()
        self.maxpool = nn.MaxPool2d(kernel_size, stride, padding, dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.maxpool(x)


batch_size = 32
channels = 64
height = 512
width = 512
kernel_size = 4
stride = 1
padding = 1
dilation = 1


def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size, stride, padding, dilation]
