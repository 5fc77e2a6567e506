"""Float64 truth of level1/048_mean: a product with a vector of ones, over their number."""

import torch


def forward(x, *, params, init):
    return torch.einsum("bij,i->bj", x, x.new_ones(x.shape[1])) / x.shape[1]


def magnitude(x, *, params, init):
    """The mean of absolute values."""
    return forward(x.abs(), params=params, init=init)
