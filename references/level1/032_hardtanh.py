"""Float64 truth of level1/032_hardtanh."""

import torch


def forward(x, *, params, init):
    one = x.new_ones(())
    return torch.minimum(torch.maximum(x, -one), one)


def magnitude(x, *, params, init):
    """The single term."""
    return forward(x, params=params, init=init).abs()
