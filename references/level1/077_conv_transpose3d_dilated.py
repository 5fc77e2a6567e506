"""Float64 truth of level1/077_conv_transpose3d_dilated."""

from kcbench.formulas import convolve_transposed


def forward(x, *, params, init):
    *_, stride, padding, dilation = init
    return convolve_transposed(x, params["conv_transpose3d.weight"], stride=stride, padding=padding, dilation=dilation)


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
