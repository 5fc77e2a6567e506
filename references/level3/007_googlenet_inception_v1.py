"""Float64 truth of level3/007_googlenet_inception_v1: windows spread out, of which a pooling takes the largest."""

import math

import torch

from kcbench.formulas import convolve, linear, relu, windows


def _largest(x, stride):
    return windows(x, 3, stride=stride, padding=1, border=-math.inf).amax(dim=-1)


def forward(x, *, params, init):
    def conv(value, name, **options):
        return convolve(value, params[f"{name}.weight"], params[f"{name}.bias"], **options)

    def inception(value, name):
        branches = [
            conv(value, f"{name}.branch1x1"),
            conv(conv(value, f"{name}.branch3x3.0"), f"{name}.branch3x3.1", padding=1),
            conv(conv(value, f"{name}.branch5x5.0"), f"{name}.branch5x5.1", padding=2),
            conv(_largest(value, 1), f"{name}.branch_pool.1"),
        ]
        return torch.cat(branches, dim=1)

    x = _largest(relu(conv(x, "conv1", stride=2, padding=3)), 2)
    x = _largest(relu(conv(relu(conv(x, "conv2")), "conv3", padding=1)), 2)
    for stage in ("3ab", "4abcde", "5ab"):
        x = x if stage == "3ab" else _largest(x, 2)
        for letter in stage[1:]:
            x = inception(x, f"inception{stage[0]}{letter}")
    return linear(x.flatten(2).sum(dim=2) / x[0, 0].numel(), params["fc.weight"], params["fc.bias"])
