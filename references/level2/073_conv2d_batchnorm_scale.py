"""Float64 truth of level2/073_conv2d_batchnorm_scale."""

from kcbench.formulas import batch_norm, convolve


def forward(x, *, params, init):
    s = convolve(x, params["conv.weight"], params["conv.bias"])
    return init[3] * batch_norm(s, params["bn.weight"], params["bn.bias"])
