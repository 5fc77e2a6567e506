import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two matrices for each entry of a batch."""

    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.bmm(A, B)


batch_size = 32
M = 512
K = 1024
N = 768


def get_inputs():
    return [torch.rand(batch_size, M, K), torch.rand(batch_size, K, N)]


def get_init_inputs():
    return []
