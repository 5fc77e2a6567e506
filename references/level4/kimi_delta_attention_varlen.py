"""Float64 truth of level4/kimi_delta_attention_varlen: the recurrence of each sequence by itself.

The state is laid out as [value, key]. Recalling takes a decayed key instead of the decayed state. A test compares it with a
closed form without a state.
"""

import itertools
import math

import torch


def forward(q, k, v, g, beta, cu_seqlens, *, params, init):
    bounds = cu_seqlens.tolist()
    parts = [[x[:, start:end] for x in (q, k, v, g, beta)] for start, end in itertools.pairwise(bounds)]
    return torch.cat([sequence(*part) for part in parts], dim=1)


def sequence(q, k, v, g, beta):
    state = v.new_zeros(v.shape[0], v.shape[2], v.shape[3], k.shape[3])
    outputs = []
    for t in range(q.shape[1]):
        key = k[:, t, :, None, :]
        alpha = g[:, t, :, None, :].exp()
        update = beta[:, t, :, None] * (v[:, t] - (state * (alpha * key)).sum(dim=-1))
        state = state * alpha + update[..., None] * key
        outputs.append((state * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1)
