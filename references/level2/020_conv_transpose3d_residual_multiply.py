"""Float64 truth of level2/020_conv_transpose3d_residual_multiply: only the first summand of the first factor has a gradient."""

from kcbench.formulas import convolve_transposed


def forward(x, *, params, init):
    stride, padding, output_padding = init[3:6]
    y = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    fixed = y.detach()
    return fixed * (1 + y + fixed + params["bias"])
