"""Float64 truth of level1/relu. ``x <= 0`` is false for NaN, which therefore stays."""

import torch


def forward(x, *, params, init):
    return torch.where(x <= 0, torch.zeros_like(x), x)
