"""Float64 truth of level1/099_triplet_margin_loss: distances as roots of products of a difference with itself."""

import torch

from kcbench.formulas import relu

EPS = 1e-6
"""Added to every difference, so that the distance of equal rows has a derivative."""


def forward(anchor, positive, negative, *, params, init):
    (margin,) = init
    return relu(_distance(anchor, positive) - _distance(anchor, negative) + margin).sum() / anchor.shape[0]


def _distance(one, other):
    step = one - other + EPS
    return torch.einsum("ij,ij->i", step, step).sqrt()
