"""Float64 truth of level1/073_conv_transpose3d_strided: the sixth argument is not used, so that there is one group."""

from kcbench.formulas import convolve_transposed


def forward(x, *, params, init):
    *_, stride, padding, _ = init
    return convolve_transposed(x, params["conv_transpose3d.weight"], stride=stride, padding=padding)


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
