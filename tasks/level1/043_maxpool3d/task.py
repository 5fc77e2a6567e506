import torch
import torch.nn as nn


class Model(nn.Module):
    """Largest value of every dilated window of a volume; what lies beyond the border never wins.

    y[n, c, d, h, w] = max over i, j, k in 0..2 of x[n, c, 2d + 3i - 1, 2h + 3j - 1, 2w + 3k - 1], -inf beyond the border
    """

    def __init__(
        self,
        kernel_size: int,
        stride: int | None = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.maxpool = nn.MaxPool3d(kernel_size, stride, padding, dilation, return_indices=return_indices, ceil_mode=ceil_mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.maxpool(x)


batch_size = 16
channels = 32
dim1 = 128
dim2 = 128
dim3 = 128
kernel_size = 3
stride = 2
padding = 1
dilation = 3


def get_inputs():
    return [torch.rand(batch_size, channels, dim1, dim2, dim3)]


def get_init_inputs():
    return [kernel_size, stride, padding, dilation]
