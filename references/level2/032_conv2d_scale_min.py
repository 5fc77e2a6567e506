"""Float64 truth of level2/032_conv2d_scale_min."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    return (convolve(x, params["conv.weight"], params["conv.bias"]) * init[3]).amin(dim=1, keepdim=True)


def magnitude(x, *, params, init):
    """The largest sum of absolute values: a minimum enlarges no error."""
    total = convolve(x.abs(), params["conv.weight"].abs(), params["conv.bias"].abs())
    return (total * abs(init[3])).amax(dim=1, keepdim=True)
