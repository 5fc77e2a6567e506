"""Float64 truth of level2/078_conv_transpose3d_maxpool_sum: the largest of three pairs is the largest of six."""

from kcbench.formulas import convolve_transposed, windows


def forward(x, *, params, init):
    s = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=init[3], padding=init[4])
    return windows(s, 6).amax(dim=-1).sum(dim=1, keepdim=True)


def magnitude(x, *, params, init):
    """The same sum of absolute values: the largest of a window makes no error larger."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
