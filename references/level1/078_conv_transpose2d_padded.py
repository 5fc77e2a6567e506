"""Float64 truth of level1/078_conv_transpose2d_padded."""

from kcbench.formulas import convolve_transposed


def forward(x, *, params, init):
    *_, stride, padding = init
    return convolve_transposed(x, params["conv_transpose2d.weight"], stride=stride, padding=padding)


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
