"""Float64 truth of level2/097_matmul_batchnorm_bias_divide_swish."""

from kcbench.formulas import batch_norm, linear, silu


def forward(x, *, params, init):
    eps, divisor = init[2], init[5]
    s = batch_norm(linear(x, params["matmul.weight"], params["matmul.bias"]), params["bn.weight"], params["bn.bias"], eps=eps)
    return silu((s + params["bias"]) / divisor)
