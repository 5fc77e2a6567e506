"""Float64 truth of level1/050_conv2d_alexnet."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    return convolve(x, params["conv1.weight"], params["conv1.bias"], stride=4, padding=2)


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
