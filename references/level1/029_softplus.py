"""Float64 truth of level1/029_softplus."""

from kcbench.formulas import softplus


def forward(x, *, params, init):
    return softplus(x)
