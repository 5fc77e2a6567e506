"""Float64 truth of level1/015_lower_triangular_matmul: the full product, of which one triangle is set to zero."""

import torch


def forward(A, B, *, params, init):
    places = torch.arange(A.shape[0], device=A.device)
    outside = places[:, None] < places
    return torch.einsum("ik,kj->ij", A, B).masked_fill(outside, 0.0)


def magnitude(A, B, *, params, init):
    """The same sum of absolute values."""
    return forward(A.abs(), B.abs(), params=params, init=init)
