import torch
import torch.nn as nn


class Model(nn.Module):
    """The last dimension of a tensor of four times a matrix.

    C[b, i, j, k] = sum_l A[b, i, j, l] B[l, k]
    """

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.einsum("bijl,lk->bijk", A, B)


b = 8
i = 256
j = 512
l = 256  # noqa: E741
k = 768


def get_inputs():
    return [torch.rand(b, i, j, l), torch.rand(l, k)]


def get_init_inputs():
    return []
