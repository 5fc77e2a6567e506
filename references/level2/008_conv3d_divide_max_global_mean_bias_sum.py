"""Float64 truth of level2/008_conv3d_divide_max_global_mean_bias_sum."""

from kcbench.formulas import convolve, windows


def forward(x, *, params, init):
    divisor, size, _, dim = init[3:]
    largest = windows(convolve(x, params["conv.weight"], params["conv.bias"]) / divisor, size).amax(dim=-1)
    places = largest.shape[2] * largest.shape[3] * largest.shape[4]
    return (largest.sum(dim=(2, 3, 4), keepdim=True) / places + params["bias"]).sum(dim=dim)


def magnitude(x, *, params, init):
    """The same sum of absolute values: a maximum enlarges no error."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
