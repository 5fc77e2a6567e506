"""Float64 truth of level2/059_matmul_swish_scale."""

from kcbench.formulas import linear, silu


def forward(x, *, params, init):
    return init[2] * silu(linear(x, params["matmul.weight"], params["matmul.bias"]))
