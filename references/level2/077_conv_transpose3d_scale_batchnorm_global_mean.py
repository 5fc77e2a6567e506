"""Float64 truth of level2/077_conv_transpose3d_scale_batchnorm_global_mean."""

from kcbench.formulas import batch_norm, convolve_transposed


def forward(x, *, params, init):
    s = init[3] * convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"])
    return batch_norm(s, params["batch_norm.weight"], params["batch_norm.bias"]).mean(dim=(2, 3, 4), keepdim=True)
