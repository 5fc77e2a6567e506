"""Float64 truth of level1/088_gelu_tanh."""

from kcbench.formulas import gelu_tanh


def forward(x, *, params, init):
    return gelu_tanh(x)
