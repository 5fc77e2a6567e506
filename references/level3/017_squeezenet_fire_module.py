"""Float64 truth of level3/017_squeezenet_fire_module."""

import torch

from kcbench.formulas import convolve, relu


def forward(x, *, params, init):
    s = relu(convolve(x, params["squeeze.weight"], params["squeeze.bias"]))
    small = convolve(s, params["expand1x1.weight"], params["expand1x1.bias"])
    large = convolve(s, params["expand3x3.weight"], params["expand3x3.bias"], padding=1)
    return relu(torch.cat([small, large], dim=1))


def magnitude(x, *, params, init):
    """The same sums of absolute values: what ReLU takes away, it takes away from the error too."""
    return forward(x.abs(), params={name: value.abs() for name, value in params.items()}, init=init)
