"""Float64 truth of level1/026_gelu."""

from kcbench.formulas import gelu


def forward(x, *, params, init):
    return gelu(x)
