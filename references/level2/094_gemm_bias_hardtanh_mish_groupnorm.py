"""Float64 truth of level2/094_gemm_bias_hardtanh_mish_groupnorm."""

from kcbench.formulas import clamp, group_norm, linear, mish


def forward(x, *, params, init):
    s = linear(x, params["gemm.weight"], params["gemm.bias"] + params["bias"])
    return group_norm(mish(clamp(s, -1.0, 1.0)), init[3], params["groupnorm.weight"], params["groupnorm.bias"])
