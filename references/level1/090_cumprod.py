"""Float64 truth of level1/090_cumprod by doubling: after step s an element is the product of the 2^s that end there."""

import torch


def forward(x, *, params, init):
    total, reach = x, 1
    while reach < total.shape[1]:
        total = torch.cat((total[:, :reach], total[:, reach:] * total[:, :-reach]), dim=1)
        reach *= 2
    return total
