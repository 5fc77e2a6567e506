"""Float64 truth of level1/031_elu."""

from kcbench.formulas import elu


def forward(x, *, params, init):
    return elu(x, *init)
