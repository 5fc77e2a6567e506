"""Float64 truth of level2/042_conv_transpose2d_global_mean_bias_logsumexp."""

from kcbench.formulas import convolve_transposed, logsumexp


def forward(x, *, params, init):
    y = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"])
    means = y.sum(dim=(2, 3), keepdim=True) / (y.shape[2] * y.shape[3])
    return 10 * logsumexp(means + params["bias"], 1).flatten(1)
