"""Float64 truth of level2/044_conv_transpose2d_multiply_global_mean."""

from kcbench.formulas import convolve_transposed


def forward(x, *, params, init):
    stride, padding, output_padding, factor = init[3:]
    y = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    return y.sum(dim=(2, 3), keepdim=True) * factor / (y.shape[2] * y.shape[3])


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
