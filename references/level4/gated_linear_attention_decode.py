"""Float64 truth of level4/gated_linear_attention_decode: the recurrence, with the state laid out as [value, key] inside."""

import math

import torch


def forward(q, k, v, g, state, *, params, init):
    recalled, decay = state.transpose(2, 3), g.exp()
    outputs = []
    for t in range(q.shape[1]):
        recalled = recalled * decay[:, t, :, None, :] + v[:, t, :, :, None] * k[:, t, :, None, :]
        outputs.append((recalled * q[:, t, :, None, :]).sum(dim=-1) / math.sqrt(k.shape[3]))
    return torch.stack(outputs, dim=1), recalled.transpose(2, 3).contiguous()
