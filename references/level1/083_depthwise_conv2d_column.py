"""Float64 truth of level1/083_depthwise_conv2d_column."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    *_, stride, padding, dilation = init
    return convolve(x, params["conv2d.weight"], stride=stride, padding=padding, dilation=dilation, groups=x.shape[1])


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
