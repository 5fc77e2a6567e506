"""Float64 truth of level1/020_leaky_relu."""

from kcbench.formulas import leaky_relu


def forward(x, *, params, init):
    return leaky_relu(x, *init)


def magnitude(x, *, params, init):
    """The single term."""
    return forward(x, params=params, init=init).abs()
