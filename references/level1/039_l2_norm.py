"""Float64 truth of level1/039_l2_norm: the square of the norm is the product of a row with itself."""

import torch


def forward(x, *, params, init):
    return x / torch.einsum("ij,ij->i", x, x).sqrt().unsqueeze(1)
