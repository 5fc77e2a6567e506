import torch
import torch.nn as nn


class Model(nn.Module):
    """Running sum of the elements of every row that a mask lets through.

    y[i, j] = sum_{k <= j} mask[i, k] x[i, k]
    """

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        return torch.cumsum(x * mask, self.dim)


batch_size = 32768
input_shape_0 = 32768
input_shape = (input_shape_0,)
dim = 1


def get_inputs():
    x = torch.rand(batch_size, *input_shape)
    return [x, torch.randint(0, 2, x.shape).bool()]


def get_init_inputs():
    return [dim]
