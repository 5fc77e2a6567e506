"""Float64 truth of level2/072_conv_transpose3d_batchnorm_avgpool: means over pairs of means over pairs are means over four."""

from kcbench.formulas import batch_norm, convolve_transposed, windows


def forward(x, *, params, init):
    s = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=init[3], padding=init[4])
    s = batch_norm(s, params["batch_norm.weight"], params["batch_norm.bias"])
    return windows(s, 4).mean(dim=-1)
