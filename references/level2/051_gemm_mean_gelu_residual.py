"""Float64 truth of level2/051_gemm_mean_gelu_residual: the logarithm of a single exponential changes nothing."""

from kcbench.formulas import gelu, linear


def forward(x, *, params, init):
    s = linear(x, params["gemm.weight"], params["gemm.bias"] - params["subtract"])
    return gelu(s.mean(dim=1, keepdim=True)) + x.detach()
