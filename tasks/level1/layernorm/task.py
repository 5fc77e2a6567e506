import torch
import torch.nn as nn


class Model(nn.Module):
    """Layer normalization over the last dimension, with a weight and a bias."""

    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch_size = 16
seq_len = 256
dim = 4096


def get_inputs():
    return [torch.rand(batch_size, seq_len, dim)]


def get_init_inputs():
    return [dim]
