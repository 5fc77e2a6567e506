"""Float64 truth of level1/019_relu."""

from kcbench.formulas import relu


def forward(x, *, params, init):
    return relu(x)


def magnitude(x, *, params, init):
    """The single term."""
    return forward(x, params=params, init=init).abs()
