"""Float64 truth of level2/054_conv2d_multiply_leaky_relu_gelu."""

from kcbench.formulas import convolve, gelu, leaky_relu


def forward(x, *, params, init):
    s = convolve(x, params["conv.weight"], params["conv.bias"]) * params["multiplier"]
    return gelu(leaky_relu(s))
