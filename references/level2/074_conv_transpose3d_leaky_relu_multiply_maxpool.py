"""Float64 truth of level2/074_conv_transpose3d_leaky_relu_multiply_maxpool."""

from kcbench.formulas import convolve_transposed, leaky_relu, windows


def forward(x, *, params, init):
    stride, padding, more = init[3:6]
    s = convolve_transposed(
        x,
        params["conv_transpose.weight"],
        params["conv_transpose.bias"],
        stride=stride,
        padding=padding,
        output_padding=more,
    )
    return windows(leaky_relu(leaky_relu(s, 0.2) * params["multiplier"], 0.2), 2).amax(dim=-1)


def magnitude(x, *, params, init):
    """The same sum of absolute values: neither LeakyReLU nor the largest of a window makes an error larger."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
