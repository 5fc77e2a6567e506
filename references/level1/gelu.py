"""Float64 truth of level1/gelu, through the complementary error function, which keeps its accuracy in the negative tail."""

import math

import torch


def forward(x, *, params, init):
    return 0.5 * x * torch.special.erfc(-x / math.sqrt(2))
