"""Float64 truth of level4/mamba2_ssd: the recurrence over the groups, with the state laid out as [state_dim, head_dim].

The step size multiplies B, and no sum is a matrix product. A test compares it with the parallel form over all pairs of tokens.
"""

import torch


def forward(x, dt, A, B, C, D, *, params, init):
    batch, time, heads, head_dim = x.shape
    groups = (batch, time, B.shape[2], heads // B.shape[2])
    decay = (dt * A).exp().view(groups)[..., None, None]
    write = dt.view(groups)[..., None] * B[:, :, :, None]  # [batch, time, group, head of the group, state_dim]
    values = x.reshape(*groups, head_dim)
    state, outputs = None, []
    for t in range(time):
        written = write[:, t, ..., None] * values[:, t, :, :, None]
        state = state * decay[:, t] + written if t else written
        outputs.append((state * C[:, t, :, None, :, None]).sum(dim=3).reshape(batch, heads, head_dim))
    return torch.stack(outputs, dim=1) + x * D[:, None]
