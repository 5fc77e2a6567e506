"""Float64 truth of level2/071_conv2d_divide_leaky_relu."""

from kcbench.formulas import convolve, leaky_relu


def forward(x, *, params, init):
    return leaky_relu(convolve(x, params["conv.weight"], params["conv.bias"]) / init[3])


def magnitude(x, *, params, init):
    """The same sum of absolute values: LeakyReLU makes no error larger."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
