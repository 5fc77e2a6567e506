"""Float64 truth of level1/066_conv3d_asymmetric."""

from kcbench.formulas import convolve


def forward(x, *, params, init):
    return convolve(x, params["conv3d.weight"])


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
