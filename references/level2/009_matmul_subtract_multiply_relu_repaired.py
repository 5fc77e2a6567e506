"""Float64 truth of level2/009_matmul_subtract_multiply_relu_repaired."""

from kcbench.formulas import linear, relu


def forward(x, *, params, init):
    subtracted, factor = init[2:]
    return relu((linear(x, params["linear.weight"], params["linear.bias"]) - subtracted) * factor)


def magnitude(x, *, params, init):
    """The sum of absolute values: what ReLU takes away, it takes away from the error too."""
    subtracted, factor = init[2:]
    total = linear(x.abs(), params["linear.weight"].abs(), params["linear.bias"].abs())
    return (total + abs(subtracted)) * abs(factor)
