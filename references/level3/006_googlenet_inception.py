"""Float64 truth of level3/006_googlenet_inception: windows spread out, of which the pooling takes the largest."""

import math

import torch

from kcbench.formulas import convolve, windows


def forward(x, *, params, init):
    def conv(value, name, padding=0):
        return convolve(value, params[f"{name}.weight"], params[f"{name}.bias"], padding=padding)

    largest = windows(x, 3, stride=1, padding=1, border=-math.inf).amax(dim=-1)
    branches = [
        conv(x, "branch1x1"),
        conv(conv(x, "branch3x3.0"), "branch3x3.1", padding=1),
        conv(conv(x, "branch5x5.0"), "branch5x5.1", padding=2),
        conv(largest, "branch_pool.1"),
    ]
    return torch.cat(branches, dim=1)


def magnitude(x, *, params, init):
    """The same sums of absolute values; the size of a largest value is at most the largest size."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
