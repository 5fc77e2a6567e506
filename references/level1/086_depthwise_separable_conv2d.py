"""Float64 truth of level1/086_depthwise_separable_conv2d: one convolution, whose kernels are the products of the two."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    *_, stride, padding, dilation = init
    weight = params["pointwise.weight"] * params["depthwise.weight"].movedim(0, 1)
    return convolve(x, weight, stride=stride, padding=padding, dilation=dilation)


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
