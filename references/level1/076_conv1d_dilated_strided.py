"""Float64 truth of level1/076_conv1d_dilated_strided."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    *_, stride, dilation = init
    return convolve(x, params["conv1d.weight"], stride=stride, dilation=dilation)


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
