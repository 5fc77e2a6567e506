"""Float64 truth of level4/kimi_delta_attention_decode: the recurrence, the state laid out as [value, key].

Recalling takes a decayed key instead of the decayed state. A test compares it with a closed form without a state.
"""

import math

import torch


def forward(q, k, v, g, beta, state, *, params, init):
    state = state.mT
    outputs = []
    for t in range(q.shape[1]):
        key = k[:, t, :, None, :]
        alpha = g[:, t, :, None, :].exp()
        update = beta[:, t, :, None] * (v[:, t] - (state * (alpha * key)).sum(dim=-1))
        state = state * alpha + update[..., None] * key
        outputs.append((state * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1), state.mT
