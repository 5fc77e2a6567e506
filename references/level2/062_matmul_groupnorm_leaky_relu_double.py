"""Float64 truth of level2/062_matmul_groupnorm_leaky_relu_double."""

from kcbench.formulas import group_norm, leaky_relu, linear


def forward(x, *, params, init):
    s = group_norm(linear(x, params["fc.weight"], params["fc.bias"]), init[2], params["gn.weight"], params["gn.bias"])
    return 2 * leaky_relu(s)
