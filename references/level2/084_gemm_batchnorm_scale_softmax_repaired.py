"""Float64 truth of level2/084_gemm_batchnorm_scale_softmax_repaired."""

from kcbench.formulas import batch_norm, linear, log_softmax


def forward(x, *, params, init):
    s = batch_norm(linear(x, params["gemm.weight"]), params["bn.weight"], params["bn.bias"], eps=init[2])
    return log_softmax(params["scale"] * s, 1)
