"""Float64 truth of level4/rwkv7_varlen: the recurrence of each sequence by itself, the state laid out as [value, key].

The part that is removed is worked out per entry of the state, not per key channel. A test compares it with a closed form
without a state.
"""

import itertools

import torch


def forward(r, w, k, v, kappa, a, cu_seqlens, *, params, init):
    bounds = cu_seqlens.tolist()
    parts = [[x[:, start:end] for x in (r, w, k, v, kappa, a)] for start, end in itertools.pairwise(bounds)]
    return torch.cat([sequence(*part) for part in parts], dim=1)


def sequence(r, w, k, v, kappa, a):
    state = v.new_zeros(v.shape[0], v.shape[2], v.shape[3], k.shape[3])
    outputs = []
    for t in range(r.shape[1]):
        removed = (state * kappa[:, t, :, None, :]).sum(dim=-1, keepdim=True)
        state = state * w[:, t, :, None, :].exp() - removed * kappa[:, t, :, None, :] * a[:, t, :, None, :]
        state = state + v[:, t, :, :, None] * k[:, t, :, None, :]
        outputs.append((state * r[:, t, :, None, :]).sum(dim=-1))
    return torch.stack(outputs, dim=1)
