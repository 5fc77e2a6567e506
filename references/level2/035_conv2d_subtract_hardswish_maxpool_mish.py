"""Float64 truth of level2/035_conv2d_subtract_hardswish_maxpool_mish."""

from kcbench.formulas import convolve, hardswish, mish, windows


def forward(x, *, params, init):
    y = hardswish(convolve(x, params["conv.weight"], params["conv.bias"]) - init[3])
    return mish(windows(y, init[4]).amax(dim=-1))


def magnitude(x, *, params, init):
    """The largest sum of absolute values, and what an error grows by: hard swish has a slope of at most 1.5, Mish of 1.09."""
    total = convolve(x.abs(), params["conv.weight"].abs(), params["conv.bias"].abs()) + abs(init[3])
    return 1.64 * windows(total, init[4]).amax(dim=-1)
