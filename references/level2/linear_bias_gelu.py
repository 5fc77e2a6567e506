"""Float64 truth of level2/linear_bias_gelu: one contraction, then GELU through the complementary error function."""

import math

import torch


def _linear(x, params):
    return torch.einsum("bi,oi->bo", x, params["linear.weight"]) + params["linear.bias"]


def forward(x, *, params, init):
    s = _linear(x, params)
    return 0.5 * s * torch.special.erfc(-s / math.sqrt(2))


def magnitude(x, *, params, init):
    """The slope of GELU is at most 1.13, so the error of the sum grows by no more; GELU adds a few roundings of the sum."""
    total = _linear(x.abs(), {name: value.abs() for name, value in params.items()})
    return 1.13 * total + 3 * _linear(x, params).abs()
