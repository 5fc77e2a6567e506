import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean of every window of a volume; zeros beyond the border are counted.

    y[n, c, d, h, w] = (1/27) sum_{i, j, k in 0..2} x[n, c, 2d + i - 1, 2h + j - 1, 2w + k - 1], 0 beyond the border
    """

    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0):
        super().__init__()
        self.avg_pool = nn.AvgPool3d(kernel_size, stride, padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.avg_pool(x)


batch_size = 16
channels = 32
depth = 128
height = 128
width = 256
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.rand(batch_size, channels, depth, height, width)]


def get_init_inputs():
    return [kernel_size, stride, padding]
