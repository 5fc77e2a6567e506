"""Float64 truth of level2/057_conv2d_relu_hardswish."""

from kcbench.formulas import convolve, hardswish, relu


def forward(x, *, params, init):
    return hardswish(relu(convolve(x, params["conv.weight"], params["conv.bias"])))
