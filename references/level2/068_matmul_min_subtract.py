"""Float64 truth of level2/068_matmul_min_subtract: what is missing to the constant, with the sign turned."""

from kcbench.formulas import linear, relu


def forward(x, *, params, init):
    return -relu(params["constant"] - linear(x, params["linear.weight"], params["linear.bias"]))


def magnitude(x, *, params, init):
    """The same sum of absolute values, with the constant that is taken away once."""
    return linear(x.abs(), params["linear.weight"].abs(), params["linear.bias"].abs()) + params["constant"].abs()
