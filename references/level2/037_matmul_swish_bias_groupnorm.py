"""Float64 truth of level2/037_matmul_swish_bias_groupnorm."""

from kcbench.formulas import group_norm, linear, silu


def forward(x, *, params, init):
    y = silu(linear(x, params["matmul.weight"], params["matmul.bias"])) + params["bias"]
    return group_norm(y, init[2], params["group_norm.weight"], params["group_norm.bias"])
