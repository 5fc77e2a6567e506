"""Float64 truth of level2/070_gemm_sigmoid_scale_residual."""

from kcbench.formulas import linear, sigmoid


def forward(x, *, params, init):
    s = linear(x, params["gemm.weight"], params["gemm.bias"])
    return s + init[2] * sigmoid(s)
