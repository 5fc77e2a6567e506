"""Float64 truth of level1/cumsum by doubling: after step s every element holds the sum of the 2^s elements that end there."""

import torch


def forward(x, *, params, init):
    (axis,) = init
    total, reach = x.movedim(axis, 0), 1
    while reach < total.shape[0]:
        total = torch.cat((total[:reach], total[reach:] + total[:-reach]))
        reach *= 2
    return total.movedim(0, axis)


def magnitude(x, *, params, init):
    """The running sum of absolute values."""
    return forward(x.abs(), params=params, init=init)
