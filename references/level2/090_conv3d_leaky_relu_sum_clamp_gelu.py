"""Float64 truth of level2/090_conv3d_leaky_relu_sum_clamp_gelu."""

from kcbench.formulas import clamp, convolve, gelu, leaky_relu


def forward(x, *, params, init):
    s = leaky_relu(convolve(x, params["conv.weight"], params["conv.bias"]), 0.2)
    return gelu(clamp(s + params["sum_tensor"], -1.0, 1.0))
