"""Float64 truth of level4/delta_rule_decode: the recurrence, the state laid out as [value, key].

What is recalled is taken away and the new value written as two terms. A test compares it with a closed form without a state.
"""

import math

import torch


def forward(q, k, v, beta, state, *, params, init):
    state = state.mT
    outputs = []
    for t in range(q.shape[1]):
        key = k[:, t, :, None, :]
        rate = beta[:, t, :, None]
        written = (rate * v[:, t])[..., None] * key
        state = state - (rate * (state * key).sum(dim=-1))[..., None] * key + written
        outputs.append((state * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1), state.mT
