import torch
import torch.nn as nn


class Model(nn.Module):
    """A tensor with a few very large elements divided by its Frobenius norm.

    y[n, c, h, w] = x[n, c, h, w] / sqrt(sum over all m, k, i, j of x[m, k, i, j]^2)
    """

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.norm(x, p="fro")


batch_size = 8
features = 64
dim1 = 512
dim2 = 512
spread = 4.0


def get_inputs():
    return [torch.sinh(spread * torch.randn(batch_size, features, dim1, dim2))]


def get_init_inputs():
    return []
