"""Float64 truth of level4/gated_delta_rule_gva: the recurrence.

The state is laid out as [key head, value head of its group, value, key]. Decay is applied to what was recalled instead of to
the state before recalling. A test compares it with a closed form without a state.
"""

import math

import torch


def forward(q, k, v, g, beta, *, params, init):
    groups = (k.shape[2], v.shape[2] // k.shape[2])
    decay = g.exp()
    state = v.new_zeros(v.shape[0], *groups, v.shape[3], k.shape[3])
    outputs = []
    for t in range(q.shape[1]):
        key, query = k[:, t, :, None, None, :], q[:, t, :, None, None, :]
        alpha, rate, value = (x[:, t].unflatten(1, groups) for x in (decay, beta, v))
        update = rate[..., None] * (value - alpha[..., None] * (state * key).sum(dim=-1))
        state = alpha[..., None, None] * state + update[..., None] * key
        outputs.append((state * query).sum(dim=-1).flatten(1, 2) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1)
