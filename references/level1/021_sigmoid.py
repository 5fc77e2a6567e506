"""Float64 truth of level1/021_sigmoid."""

from kcbench.formulas import sigmoid


def forward(x, *, params, init):
    return sigmoid(x)
