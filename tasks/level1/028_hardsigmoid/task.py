import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Piecewise linear sigmoid, element by element.

    y = min(max(x + 3, 0), 6) / 6
    """

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardsigmoid(x)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
