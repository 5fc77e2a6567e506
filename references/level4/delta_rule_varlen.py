"""Float64 truth of level4/delta_rule_varlen: the recurrence of each sequence by itself, the state laid out as [value, key].

What is recalled is taken away and the new value written as two terms. A test compares it with a closed form without a state.
"""

import itertools
import math

import torch


def forward(q, k, v, beta, cu_seqlens, *, params, init):
    bounds = cu_seqlens.tolist()
    parts = [[x[:, start:end] for x in (q, k, v, beta)] for start, end in itertools.pairwise(bounds)]
    return torch.cat([sequence(*part) for part in parts], dim=1)


def sequence(q, k, v, beta):
    state = v.new_zeros(v.shape[0], v.shape[2], v.shape[3], k.shape[3])
    outputs = []
    for t in range(q.shape[1]):
        key = k[:, t, :, None, :]
        rate = beta[:, t, :, None]
        written = (rate * v[:, t])[..., None] * key
        state = state - (rate * (state * key).sum(dim=-1))[..., None] * key + written
        outputs.append((state * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1)
