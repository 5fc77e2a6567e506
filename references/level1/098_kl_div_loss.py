"""Float64 truth of level1/098_kl_div_loss."""

import torch


def forward(predictions, targets, *, params, init):
    # A target of zero adds nothing, and its logarithm is kept out of the derivative.
    nothing = targets == 0
    own = torch.where(nothing, torch.ones_like(targets), targets).log()
    return (targets * (own - predictions.log())).sum() / targets.shape[0]
