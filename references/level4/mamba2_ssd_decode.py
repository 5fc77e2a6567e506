"""Float64 truth of level4/mamba2_ssd_decode: the recurrence over the groups, with the step size in B and no matrix product."""

import torch


def forward(x, dt, A, B, C, D, state, *, params, init):
    batch, time, heads, head_dim = x.shape
    groups = (batch, time, B.shape[2], heads // B.shape[2])
    decay = (dt * A).exp().view(groups)[..., None, None]
    write = dt.view(groups)[..., None] * B[:, :, :, None]  # [batch, time, group, head of the group, state_dim]
    values = x.reshape(*groups, head_dim)
    current = state.reshape(batch, *groups[2:], head_dim, B.shape[3])
    outputs = []
    for t in range(time):
        current = current * decay[:, t] + values[:, t, ..., None] * write[:, t, :, :, None]
        outputs.append((current * C[:, t, :, None, None]).sum(dim=4).reshape(batch, heads, head_dim))
    return torch.stack(outputs, dim=1) + x * D[:, None], current.reshape(state.shape)
