import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of matrices, pair by pair of a batch.

    C[b, i, j] = sum_k A[b, i, k] B[b, k, j]
    """

    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.bmm(A, B)


batch_size = 128
m = 512
k = 1024
n = 2048


def get_inputs():
    return [torch.rand(batch_size, m, k), torch.rand(batch_size, k, n)]


def get_init_inputs():
    return []
