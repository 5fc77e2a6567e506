"""Float64 truth of level2/041_gemm_batchnorm_gelu_relu."""

from kcbench.formulas import batch_norm, gelu, linear, relu


def forward(x, *, params, init):
    y = linear(x, params["gemm.weight"], params["gemm.bias"])
    return relu(gelu(batch_norm(y, params["batch_norm.weight"], params["batch_norm.bias"])))
