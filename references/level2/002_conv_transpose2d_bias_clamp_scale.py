"""Float64 truth of level2/002_conv_transpose2d_bias_clamp_scale: with a factor s >= 1 both clamps are one, to [0, 1 / s]."""

import torch

from kcbench.formulas import convolve_transposed, relu


def _sum(x, params, init):
    stride, padding, output_padding = init[3:6]
    y = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    return y + params["bias"]


def forward(x, *, params, init):
    y = relu(_sum(x, params, init))
    return torch.minimum(y, y.new_full((), 1 / init[7]))


def magnitude(x, *, params, init):
    """The same sum of absolute values: a clamp enlarges no error."""
    return _sum(x.abs(), {name: value.abs() for name, value in params.items()}, init)
