"""Float64 truth of level2/034_conv_transpose3d_layernorm_gelu_scale."""

from kcbench.formulas import convolve_transposed, gelu, layer_norm


def forward(x, *, params, init):
    stride, padding, _, eps, factor = init[3:]
    y = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    return gelu(layer_norm(y, 1, params["layer_norm.weight"], params["layer_norm.bias"], eps=eps)) * factor
