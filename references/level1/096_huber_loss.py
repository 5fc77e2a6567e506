"""Float64 truth of level1/096_huber_loss: with c = min(|d|, 1) both branches are c (|d| - c / 2)."""

import torch


def forward(predictions, targets, *, params, init):
    size = (predictions - targets).abs()
    capped = torch.minimum(size, size.new_ones(()))
    return (capped * (size - capped / 2)).sum() / size.numel()
