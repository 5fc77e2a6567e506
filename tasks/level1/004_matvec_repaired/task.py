import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of a matrix and a column, of numbers of either sign, whose sum is not known beforehand.

    C[i, 0] = sum_k A[i, k] B[k, 0]
    """

    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 128
K = 1048576


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, 1)]


def get_init_inputs():
    return []
