"""Float64 truth of level2/012_gemm_multiply_leaky_relu."""

from kcbench.formulas import leaky_relu, linear


def forward(x, *, params, init):
    factor, slope = init[2:]
    return leaky_relu(linear(x, params["gemm.weight"], params["gemm.bias"]) * factor, slope)


def magnitude(x, *, params, init):
    """The sum of absolute values, which a slope of at most 1 does not enlarge."""
    return linear(x.abs(), params["gemm.weight"].abs(), params["gemm.bias"].abs()) * abs(init[2])
