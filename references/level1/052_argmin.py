"""Float64 truth of level1/052_argmin: the first row that nothing undercuts; a NaN comes before all numbers."""

import torch


def forward(x, *, params, init):
    best = x.amin(dim=1, keepdim=True)
    hit = (x == best) | x.isnan()
    rows = torch.arange(x.shape[1], device=x.device)[:, None]
    return torch.where(hit, rows, x.shape[1]).amin(dim=1)
