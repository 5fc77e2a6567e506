"""Float64 truth of level2/053_gemm_scale_hardtanh_gelu."""

from kcbench.formulas import clamp, gelu, linear


def forward(x, *, params, init):
    factor, low, high = init[2:]
    return gelu(clamp(factor * linear(x, params["gemm.weight"], params["gemm.bias"]), low, high))
