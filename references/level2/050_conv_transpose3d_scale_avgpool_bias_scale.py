"""Float64 truth of level2/050_conv_transpose3d_scale_avgpool_bias_scale."""

from kcbench.formulas import convolve_transposed, windows


def forward(x, *, params, init):
    stride, padding = init[3:5]
    y = convolve_transposed(x, params["conv_transpose.weight"], params["conv_transpose.bias"], stride=stride, padding=padding)
    places = windows(y * params["scale1"], 2)
    return (places.sum(dim=-1) / places.shape[-1] + params["bias"]) * params["scale2"]


def magnitude(x, *, params, init):
    """The same sum of absolute values."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
