"""Float64 truth of level2/100_conv_transpose3d_clamp_divide."""

from kcbench.formulas import clamp, convolve_transposed


def forward(x, *, params, init):
    stride, padding, low, divisor = init[3:]
    s = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    return clamp(s, low) / divisor


def magnitude(x, *, params, init):
    """The same sum of absolute values, and at least the limit, which the result is where it lies lower."""
    stride, padding, low, divisor = init[3:]
    weight, bias = params["conv_transpose.weight"].abs(), params["conv_transpose.bias"].abs()
    return clamp(convolve_transposed(x.abs(), weight, bias, stride=stride, padding=padding), abs(low)) / abs(divisor)
