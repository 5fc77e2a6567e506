"""Float64 truth of level1/maxpool2d: the border is -inf, and NaN wins every comparison."""

import math

import torch.nn.functional as F


def forward(x, *, params, init):
    size, stride, padding = init
    padded = F.pad(x, (padding,) * 4, value=-math.inf)
    return padded.unfold(2, size, stride).unfold(3, size, stride).amax(dim=(-2, -1))
