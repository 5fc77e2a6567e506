"""Float64 truth of level2/028_linear_instancenorm_residual_multiply, with the constructor's default eps."""

from kcbench.formulas import linear, standardize

EPS = 1e-5


def forward(x, y, *, params, init):
    z = standardize(linear(x, params["bmm.weight"], params["bmm.bias"]), [1], EPS)
    return (z + y) * y
