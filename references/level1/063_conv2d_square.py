"""Float64 truth of level1/063_conv2d_square."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    return convolve(x, params["conv2d.weight"])


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
