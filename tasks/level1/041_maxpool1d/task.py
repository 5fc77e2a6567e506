import torch
import torch.nn as nn


class Model(nn.Module):
    """Largest value of every dilated window of a sequence; what lies beyond the border never wins.

    y[n, c, t] = max over k in 0..7 of x[n, c, t + 3k - 4], -inf beyond the border
    """

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0, dilation: int = 1, return_indices: bool = False
    ):
        super().__init__()
        self.maxpool = nn.MaxPool1d(kernel_size, stride, padding, dilation, return_indices=return_indices)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.maxpool(x)


batch_size = 64
features = 192
sequence_length = 65536
kernel_size = 8
stride = 1
padding = 4
dilation = 3
return_indices = False


def get_inputs():
    return [torch.rand(batch_size, features, sequence_length)]


def get_init_inputs():
    return [kernel_size, stride, padding, dilation, return_indices]
