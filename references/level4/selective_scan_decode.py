"""Float64 truth of level4/selective_scan_decode: one element of the states after another."""

import torch


def forward(u, delta, A, B, C, D, state, *, params, init):
    total, new = u * D, []
    for n in range(A.shape[1]):
        new.append((delta * A[:, n]).exp() * state[..., n] + delta * B[:, n, None] * u)
        total = total + new[-1] * C[:, n, None]
    return total, torch.stack(new, dim=2)
