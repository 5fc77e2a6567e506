"""Float64 truth of level1/080_conv2d_dilated."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    *_, stride, padding, dilation = init
    return convolve(x, params["conv2d.weight"], stride=stride, padding=padding, dilation=dilation)


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
