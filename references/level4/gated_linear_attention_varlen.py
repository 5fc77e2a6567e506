"""Float64 truth of level4/gated_linear_attention_varlen: one pass over all tokens, anew from each boundary.

The state is laid out as [value, key].
"""

import math

import torch


def forward(q, k, v, g, cu_seqlens, *, params, init):
    decay, starts = g[0].exp(), set(cu_seqlens.tolist())
    state, outputs = None, []
    for t in range(q.shape[1]):
        written = v[0, t, :, :, None] * k[0, t, :, None, :]
        state = written if t in starts else state * decay[t, :, None, :] + written
        outputs.append((state * q[0, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs)[None]
