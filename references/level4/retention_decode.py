"""Float64 truth of level4/retention_decode: powers of the decay in place of a recursion."""

import math

import torch


def forward(q, k, v, state, *, params, init):
    decay = (1 - 2.0 ** (-5 - torch.arange(q.shape[2], dtype=v.dtype)))[:, None]
    key, value = k.permute(0, 2, 3, 1), v.transpose(1, 2)  # [batch, head, key_dim, time], [batch, head, time, value_dim]
    outputs, current = [], state
    for t in range(q.shape[1]):
        weights = decay ** torch.arange(t, -1, -1)  # [head, tokens up to t]
        current = decay[..., None] ** (t + 1) * state + (key[..., : t + 1] * weights[:, None]) @ value[:, :, : t + 1]
        outputs.append((q[:, t, :, :, None] * current).sum(dim=2) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1), current
