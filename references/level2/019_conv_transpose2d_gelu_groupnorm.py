"""Float64 truth of level2/019_conv_transpose2d_gelu_groupnorm."""

from kcbench.formulas import convolve_transposed, gelu, group_norm


def forward(x, *, params, init):
    y = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=init[3])
    return group_norm(gelu(y), init[5], params["group_norm.weight"], params["group_norm.bias"])
