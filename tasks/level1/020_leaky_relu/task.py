import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Leaky rectified linear unit, element by element.

    y = x where x > 0, negative_slope x elsewhere
    """

    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(x, self.negative_slope)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
