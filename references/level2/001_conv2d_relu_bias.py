"""Float64 truth of level2/001_conv2d_relu_bias."""

from kcbench.formulas import convolve, relu


def forward(x, *, params, init):
    return relu(convolve(x, params["conv.weight"], params["conv.bias"])) + params["bias"]


def magnitude(x, *, params, init):
    """The same sum of absolute values: what ReLU takes away, it takes away from the error too."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
