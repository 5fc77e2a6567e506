"""Float64 truth of level2/014_gemm_divide_sum_scale."""

from kcbench.formulas import linear


def forward(x, *, params, init):
    return linear(x, params["weight"]).sum(dim=1, keepdim=True) * init[2] / 2


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={"weight": params["weight"].abs()}, init=init)
