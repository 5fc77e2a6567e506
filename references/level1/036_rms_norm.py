"""Float64 truth of level1/036_rms_norm; eps keeps its default."""

import torch

EPS = 1e-5


def forward(x, *, params, init):
    square = torch.einsum("nc...,nc...->n...", x, x).unsqueeze(1)
    return x * (square / x.shape[1] + EPS) ** -0.5
