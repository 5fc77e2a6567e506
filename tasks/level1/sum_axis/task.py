import torch
import torch.nn as nn


class Model(nn.Module):
    """Sum over one axis, which is kept with size 1."""

    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=self.axis, keepdim=True)


batch_size = 16
dim1 = 4096
dim2 = 1024


def get_inputs():
    return [torch.rand(batch_size, dim1, dim2)]


def get_init_inputs():
    return [1]
