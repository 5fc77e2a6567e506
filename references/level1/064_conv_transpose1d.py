"""Float64 truth of level1/064_conv_transpose1d."""

from kcbench.formulas import convolve_transposed


def forward(x, *, params, init):
    return convolve_transposed(x, params["conv1d_transpose.weight"])


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
