import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Exponential linear unit, element by element.

    y = x where x > 0, alpha (exp(x) - 1) elsewhere
    """

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.elu(x, self.alpha)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return [1.0]
