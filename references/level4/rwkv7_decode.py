"""Float64 truth of level4/rwkv7_decode: the recurrence, the state laid out as [value, key].

The part that is removed is worked out per entry of the state, not per key channel. A test compares it with a closed form
without a state.
"""

import torch


def forward(r, w, k, v, kappa, a, state, *, params, init):
    state = state.mT
    outputs = []
    for t in range(r.shape[1]):
        removed = (state * kappa[:, t, :, None, :]).sum(dim=-1, keepdim=True)
        state = state * w[:, t, :, None, :].exp() - removed * kappa[:, t, :, None, :] * a[:, t, :, None, :]
        state = state + v[:, t, :, :, None] * k[:, t, :, None, :]
        outputs.append((state * r[:, t, :, None, :]).sum(dim=-1))
    return torch.stack(outputs, dim=1), state.mT
