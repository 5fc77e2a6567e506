"""Float64 truth of level2/049_conv_transpose3d_softmax_sigmoid."""

from kcbench.formulas import convolve_transposed, sigmoid, softmax


def forward(x, *, params, init):
    stride, padding, output_padding = init[3:]
    y = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=output_padding,
    )
    return sigmoid(softmax(y, 1))
