"""Float64 truth of level4/retention_varlen: every state as a sum over the tokens of its sequence."""

import math

import torch


def forward(q, k, v, cu_seqlens, *, params, init):
    decay = (1 - 2.0 ** (-5 - torch.arange(q.shape[2], dtype=v.dtype)))[:, None]
    key, value = k[0].permute(1, 2, 0), v[0].transpose(0, 1)  # [head, key_dim, time], [head, time, value_dim]
    zero = v.new_zeros(v.shape[2], k.shape[3], v.shape[3])
    starts = torch.bucketize(torch.arange(q.shape[1]), cu_seqlens, right=True) - 1
    outputs = []
    for t, first in enumerate(cu_seqlens[starts].tolist()):
        weights = decay ** torch.arange(t - first, -1, -1)  # [head, tokens of the sequence up to t]
        own = slice(first, t + 1)
        state = decay[..., None] ** (t + 1 - first) * zero + (key[..., own] * weights[:, None]) @ value[:, own]
        outputs.append((q[0, t, :, :, None] * state).sum(dim=1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs)[None]
