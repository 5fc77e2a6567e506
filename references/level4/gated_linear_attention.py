"""Float64 truth of level4/gated_linear_attention: the recurrence, with the state laid out as [value, key].

A test compares it with the parallel form over all pairs of tokens.
"""

import math

import torch


def forward(q, k, v, g, *, params, init):
    decay = g.exp()
    state, outputs = None, []
    for t in range(q.shape[1]):
        written = v[:, t, :, :, None] * k[:, t, :, None, :]
        state = state * decay[:, t, :, None, :] + written if t else written
        outputs.append((state * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1)
