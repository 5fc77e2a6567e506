"""Float64 truth of level2/088_gemm_groupnorm_swish_multiply_swish."""

from kcbench.formulas import group_norm, linear, silu


def forward(x, *, params, init):
    s = linear(x, params["gemm.weight"], params["gemm.bias"])
    s = group_norm(s, init[2], params["group_norm.weight"], params["group_norm.bias"])
    return silu(silu(s) * params["multiply_weight"])
