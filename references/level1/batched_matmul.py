"""Float64 truth of level1/batched_matmul."""

import torch


def forward(A, B, *, params, init):
    return torch.einsum("bmk,bkn->bmn", A, B)


def magnitude(A, B, *, params, init):
    """|A| |B|."""
    return torch.einsum("bmk,bkn->bmn", A.abs(), B.abs())
