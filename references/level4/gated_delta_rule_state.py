"""Float64 truth of level4/gated_delta_rule_state: the recurrence, the state laid out as [value, key].

Decay is applied to what was recalled instead of to the state before recalling. A test compares it with a closed form without a
state.
"""

import math

import torch


def forward(q, k, v, g, beta, state, *, params, init):
    state = state.mT
    outputs = []
    for t in range(q.shape[1]):
        key = k[:, t, :, None, :]
        alpha = g[:, t].exp()[..., None]
        update = beta[:, t, :, None] * (v[:, t] - alpha * (state * key).sum(dim=-1))
        state = alpha[..., None] * state + update[..., None] * key
        outputs.append((state * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1), state.mT
