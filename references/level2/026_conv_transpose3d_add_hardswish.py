"""Float64 truth of level2/026_conv_transpose3d_add_hardswish."""

from kcbench.formulas import convolve_transposed, hardswish


def forward(x, add_input, *, params, init):
    stride, padding, output_padding = init[3:6]
    y = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    y = y + add_input
    return y * hardswish(y)
