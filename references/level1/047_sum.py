"""Float64 truth of level1/047_sum: a product with a vector of ones."""

import torch


def forward(x, *, params, init):
    return torch.einsum("bij,i->bj", x, x.new_ones(x.shape[1])).unsqueeze(1)


def magnitude(x, *, params, init):
    """The sum of absolute values."""
    return forward(x.abs(), params=params, init=init)
