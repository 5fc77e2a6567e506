"""Float64 truth of level1/085_depthwise_conv2d_asymmetric."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    return convolve(x, params["conv2d.weight"], stride=init[4:6], padding=init[6:8], dilation=init[8:10], groups=x.shape[1])


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
