"""Float64 truth of level2/015_conv_transpose3d_batchnorm_subtract_mean."""

from kcbench.formulas import batch_norm, convolve_transposed


def forward(x, *, params, init):
    stride, padding = init[3:]
    y = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    y = batch_norm(y, params["batch_norm.weight"], params["batch_norm.bias"])
    return y - y.sum(dim=(2, 3, 4), keepdim=True) / (y.shape[2] * y.shape[3] * y.shape[4])
