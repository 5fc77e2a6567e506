"""Float64 truth of level2/069_conv2d_hardswish_relu."""

from kcbench.formulas import convolve, hardswish, relu


def forward(x, *, params, init):
    return relu(hardswish(convolve(x, params["conv.weight"], params["conv.bias"])))
