"""Float64 truth of level1/093_masked_cumsum by doubling: after step s an element is the sum of the 2^s that end there."""

import torch


def forward(x, mask, *, params, init):
    # A product rather than a choice: what the mask stops is 0 x, which is NaN where x is not finite.
    total, reach = x * mask, 1
    while reach < total.shape[1]:
        total = torch.cat((total[:, :reach], total[:, reach:] + total[:, :-reach]), dim=1)
        reach *= 2
    return total


def magnitude(x, mask, *, params, init):
    """The running sum of absolute values."""
    return forward(x.abs(), mask, params=params, init=init)
