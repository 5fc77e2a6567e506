"""Float64 truth of level1/010_matmul_3d."""

import torch


def forward(A, B, *, params, init):
    return torch.einsum("nik,kj->nij", A, B)


def magnitude(A, B, *, params, init):
    """The same sum of absolute values."""
    return forward(A.abs(), B.abs(), params=params, init=init)
