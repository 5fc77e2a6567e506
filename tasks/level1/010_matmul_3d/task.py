import torch
import torch.nn as nn


class Model(nn.Module):
    """Every matrix of a batch times one and the same matrix.

    C[n, i, j] = sum_k A[n, i, k] B[k, j]
    """

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)


N = 16
M = 1024
K = 2048
L = 768


def get_inputs():
    return [torch.rand(N, M, K), torch.rand(K, L)]


def get_init_inputs():
    return []
