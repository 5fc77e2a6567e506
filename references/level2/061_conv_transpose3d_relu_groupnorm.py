"""Float64 truth of level2/061_conv_transpose3d_relu_groupnorm."""

from kcbench.formulas import convolve_transposed, group_norm, relu


def forward(x, *, params, init):
    s = relu(convolve_transposed(x, params["conv_transpose.weight"], params.get("conv_transpose.bias")))
    return group_norm(s, init[3], params["group_norm.weight"], params["group_norm.bias"])
