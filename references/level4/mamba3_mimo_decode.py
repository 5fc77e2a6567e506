"""Float64 truth of level4/mamba3_mimo_decode: phases as products of complex numbers, in another layout."""

import math

import torch


def forward(q, k, v, adt, dt, trap, q_bias, k_bias, angles, mimo_v, mimo_o, D, state, angle, prev_k, prev_v, *, params, init):
    decay = adt.exp()[..., None, None]
    part = 1 / (1 + (-trap).exp())
    left, right = ((1 - part) * dt)[..., None, None] * decay, (part * dt)[..., None, None]
    turns = math.pi * angles.tanh() * dt[..., None]
    layout = state.shape
    state = state.transpose(2, 3)
    added = (prev_k[..., :, None] * (prev_v[..., None, :] * mimo_v)[..., None, :]).sum(dim=2)
    phase = torch.polar(torch.ones_like(angle), angle)
    outputs = []
    for t in range(v.shape[1]):
        phase = phase * torch.polar(torch.ones_like(angle), turns[:, t])
        key, query = turned(k[:, t] + k_bias, phase[:, :, None]), turned(q[:, t] + q_bias, phase[:, :, None])
        parts = v[:, t, :, None] * mimo_v
        before, added = added, (key[..., :, None] * parts[..., None, :]).sum(dim=2)
        state = state * decay[:, t] + before * left[:, t] + added * right[:, t]
        seen = (state[:, :, None] * query[..., None]).sum(dim=3) + D[:, None, None] * parts
        outputs.append((mimo_o * seen).sum(dim=2))
    results = state.transpose(2, 3).reshape(layout), angle + turns.sum(dim=1), key
    return torch.stack(outputs, dim=1), *results


def turned(x, phase):
    """Neighbouring pairs as complex numbers, the first of them times a phase each."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    count = phase.shape[-1]
    return torch.view_as_real(torch.cat((pairs[..., :count] * phase, pairs[..., count:]), dim=-1)).flatten(-2)
