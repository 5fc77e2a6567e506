"""Float64 truth of level1/022_tanh, by exp(2x) - 1; beyond 30 it is 1 in float64."""

import torch


def forward(x, *, params, init):
    grown = torch.expm1(2 * x.clamp(-30, 30))
    return grown / (grown + 2)
