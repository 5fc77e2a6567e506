"""Float64 truth of level2/096_conv_transpose3d_multiply_maxpool_global_mean_clamp."""

from kcbench.formulas import clamp, convolve_transposed, windows


def forward(x, *, params, init):
    stride, padding, factor, size = init[3:]
    s = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    return clamp(windows(factor * s, size).amax(dim=-1).mean(dim=(2, 3, 4), keepdim=True), 0.0, 1.0)


def magnitude(x, *, params, init):
    """The same mean of absolute values, without the cut: neither it nor the largest of a window makes an error larger."""
    stride, padding, factor, size = init[3:]
    weight, bias = params["conv_transpose.weight"].abs(), params["conv_transpose.bias"].abs()
    s = abs(factor) * convolve_transposed(x.abs(), weight, bias, stride=stride, padding=padding)
    return windows(s, size).amax(dim=-1).mean(dim=(2, 3, 4), keepdim=True)
