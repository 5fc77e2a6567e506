"""Float64 truth of level4/mamba3_siso: phases as products of complex numbers, and the state laid out as [key_dim, value_dim]."""

import math

import torch


def forward(q, k, v, adt, dt, trap, q_bias, k_bias, angles, D, *, params, init):
    decay = adt.exp()[..., None, None]
    part = 1 / (1 + (-trap).exp())
    left, right = ((1 - part) * dt)[..., None, None] * decay, (part * dt)[..., None, None]
    turns = math.pi * angles.tanh() * dt[..., None]
    phase = torch.polar(torch.ones_like(turns[:, 0]), torch.zeros_like(turns[:, 0]))
    state = added = None
    outputs = []
    for t in range(v.shape[1]):
        phase = phase * torch.polar(torch.ones_like(turns[:, t]), turns[:, t])
        key, query = turned(k[:, t] + k_bias, phase), turned(q[:, t] + q_bias, phase)
        new = key[..., :, None] * v[:, t, :, None, :]
        state = state * decay[:, t] + added * left[:, t] + new * right[:, t] if t else new * right[:, t]
        added = new
        outputs.append((state * query[..., None]).sum(dim=2) + D[:, None] * v[:, t])
    return torch.stack(outputs, dim=1)


def turned(x, phase):
    """Neighbouring pairs as complex numbers, the first of them times a phase each."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    count = phase.shape[-1]
    return torch.view_as_real(torch.cat((pairs[..., :count] * phase, pairs[..., count:]), dim=-1)).flatten(-2)
