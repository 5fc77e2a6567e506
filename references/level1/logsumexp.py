"""Float64 truth of level1/logsumexp. A row with +inf gives +inf, a row of -inf gives -inf."""

import torch


def forward(x, *, params, init):
    peak = x.detach().amax(dim=1)
    shift = torch.where(torch.isinf(peak), torch.zeros_like(peak), peak)
    return shift + (x - shift[:, None]).exp().sum(dim=1).log()
