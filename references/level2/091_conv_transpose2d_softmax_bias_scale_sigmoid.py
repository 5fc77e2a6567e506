"""Float64 truth of level2/091_conv_transpose2d_softmax_bias_scale_sigmoid."""

from kcbench.formulas import convolve_transposed, sigmoid, softmax


def forward(x, *, params, init):
    stride, padding, more, factor = *init[3:6], init[7]
    s = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=more,
    )
    return sigmoid(factor * (softmax(s, 1) + params["bias"]))
