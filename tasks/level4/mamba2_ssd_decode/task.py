import torch
import torch.nn as nn


class Model(nn.Module):
    """State space duality of Mamba-2 for a few new tokens, from a given state to the next one.

    Per head the state S has a row for each channel of x and a column for each of B and C:

        S_t = exp(dt_t A) S_{t-1} + dt_t x_t B_t^T,    y_t = S_t C_t + D x_t,    S_0 = state

    Shapes: x and the output [batch, time, head, head_dim]; dt [batch, time, head], positive; A [head], not positive; B, C
    [batch, time, group, state_dim]; D [head]; state [batch, head, head_dim, state_dim]. Group i serves the heads from i *
    heads_per_group on. The result is the output and the state after the last token, a new tensor. 16-bit inputs are computed
    with in float32, and each result is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self,
        x: torch.Tensor,
        dt: torch.Tensor,
        A: torch.Tensor,
        B: torch.Tensor,
        C: torch.Tensor,
        D: torch.Tensor,
        state: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        heads = x.shape[2]
        work = torch.promote_types(x.dtype, torch.float32)
        values, steps = x.to(work), dt.to(work)[..., None]  # [batch, time, head, 1]
        decays = (steps * A.to(work)[:, None]).exp()[..., None]
        columns = (steps * values)[..., None]  # [batch, time, head, head_dim, 1]
        write, read = (item.to(work).repeat_interleave(heads // item.shape[2], dim=2)[..., None, :] for item in (B, C))
        current = state.to(work)
        outputs = []
        for t in range(x.shape[1]):
            current = decays[:, t] * current + columns[:, t] * write[:, t]
            outputs.append((read[:, t] @ current.mT)[..., 0, :])
        out = torch.stack(outputs, dim=1) + D.to(work)[:, None] * values
        return out.to(x.dtype), current.to(state.dtype)


batch_size = 32
seq_len = 1
num_groups = 2
heads_per_group = 8
head_dim = 64
state_dim = 128


def get_inputs():
    heads = num_groups * heads_per_group
    x = torch.rand(batch_size, seq_len, heads, head_dim)
    dt = 0.01 + torch.rand(batch_size, seq_len, heads)
    A = -torch.rand(heads)
    B = torch.rand(batch_size, seq_len, num_groups, state_dim)
    C = torch.rand(batch_size, seq_len, num_groups, state_dim)
    D = torch.rand(heads)
    state = torch.rand(batch_size, heads, head_dim, state_dim)
    return [x, dt, A, B, C, D, state]


def get_init_inputs():
    return []
