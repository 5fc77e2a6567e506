"""Float64 truth of level4/gated_delta_rule: the recurrence, with the state laid out as [value, key].

Decay is applied to what was recalled instead of to the state before recalling. A test compares it with the chunkwise closed form.
"""

import math

import torch


def forward(q, k, v, g, beta, *, params, init):
    decay = g.exp()
    state = v.new_zeros(v.shape[0], v.shape[2], v.shape[3], k.shape[3])
    outputs = []
    for t in range(q.shape[1]):
        key = k[:, t, :, None, :]
        alpha = decay[:, t, :, None]
        recalled = alpha * (state * key).sum(dim=-1)
        update = beta[:, t, :, None] * (v[:, t] - recalled)
        state = alpha[..., None] * state + update[..., None] * key
        outputs.append((state * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1)
