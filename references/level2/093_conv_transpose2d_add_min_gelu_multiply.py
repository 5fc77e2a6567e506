"""Float64 truth of level2/093_conv_transpose2d_add_min_gelu_multiply."""

from kcbench.formulas import clamp, convolve_transposed, gelu


def forward(x, *, params, init):
    stride, added, factor = init[3:]
    s = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride)
    return factor * gelu(clamp(s + added, high=0.0))
