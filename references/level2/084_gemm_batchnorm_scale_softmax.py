"""Float64 truth of level2/084_gemm_batchnorm_scale_softmax."""

from kcbench.formulas import batch_norm, linear, softmax


def forward(x, *, params, init):
    s = batch_norm(linear(x, params["gemm.weight"], params["gemm.bias"]), params["bn.weight"], params["bn.bias"], eps=init[2])
    return softmax(params["scale"] * s, 1)
