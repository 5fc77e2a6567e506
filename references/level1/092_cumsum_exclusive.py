"""Float64 truth of level1/092_cumsum_exclusive by doubling: after step s an element is the sum of the 2^s before it."""

import torch


def forward(x, *, params, init):
    total, reach = torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1]), dim=1), 1
    while reach < total.shape[1]:
        total = torch.cat((total[:, :reach], total[:, reach:] + total[:, :-reach]), dim=1)
        reach *= 2
    return total


def magnitude(x, *, params, init):
    """The running sum of absolute values."""
    return forward(x.abs(), params=params, init=init)
