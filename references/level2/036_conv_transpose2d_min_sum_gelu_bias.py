"""Float64 truth of level2/036_conv_transpose2d_min_sum_gelu_bias."""

from kcbench.formulas import convolve_transposed, gelu


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
    return gelu(y.amin(dim=1, keepdim=True).sum(dim=2, keepdim=True)) + params["bias"]
