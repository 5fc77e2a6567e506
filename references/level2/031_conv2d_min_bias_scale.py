"""Float64 truth of level2/031_conv2d_min_bias_scale."""

import torch

from kcbench.formulas import convolve


def forward(x, *, params, init):
    y = convolve(x, params["conv.weight"], params["conv.bias"])
    return (torch.minimum(y, y.new_full((), init[3])) + params["bias"]) * init[5]


def magnitude(x, *, params, init):
    """The sum of absolute values, and of the number where that is the smaller one."""
    total = convolve(x.abs(), params["conv.weight"].abs(), params["conv.bias"].abs())
    return (total + abs(init[3]) + params["bias"].abs()) * abs(init[5])
