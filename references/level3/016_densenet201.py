"""Float64 truth of level3/016_densenet201."""

import math

import torch

from kcbench.formulas import batch_norm, convolve, linear, relu, windows

ACCURACY = 1e-9
"""Statistics of few values, layer after layer, amplify the rounding of float64."""

LAYERS = (6, 12, 48, 32)


def forward(x, *, params, init):
    def normed(value, name):
        return relu(batch_norm(value, params[f"{name}.weight"], params[f"{name}.bias"]))

    x = normed(convolve(x, params["features.0.weight"], stride=2, padding=3), "features.1")
    x = windows(x, 3, stride=2, padding=1, border=-math.inf).amax(dim=-1)
    for block, count in enumerate(LAYERS):
        if block:
            name = f"transition_layers.{block - 1}.transition"
            # The mean commutes with the 1x1 convolution.
            x = convolve(windows(normed(x, f"{name}.0"), 2).sum(dim=-1) / 4, params[f"{name}.2.weight"])
        for number in range(count):
            name = f"dense_blocks.{block}.layers.{number}"
            x = torch.cat([x, convolve(normed(x, f"{name}.0"), params[f"{name}.2.weight"], padding=1)], dim=1)
    x = normed(x, "final_bn")
    return linear(x.flatten(2).sum(dim=2) / x[0, 0].numel(), params["classifier.weight"], params["classifier.bias"])
