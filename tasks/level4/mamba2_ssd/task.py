import torch
import torch.nn as nn


class Model(nn.Module):
    """State space duality of Mamba-2, token by token.

    Per head the state S has a row for each channel of x and a column for each of B and C. It decays by a factor that all its
    elements share, takes in the token, and is read; x also skips it:

        S_t = exp(dt_t A) S_{t-1} + dt_t x_t B_t^T,    y_t = S_t C_t + D x_t,    S_0 = 0

    Shapes: x and the output [batch, time, head, head_dim]; dt [batch, time, head], positive; A [head], not positive; B, C
    [batch, time, group, state_dim]; D [head]. Group i serves the heads from i * heads_per_group on. 16-bit inputs are
    computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, D: torch.Tensor
    ) -> torch.Tensor:
        batch, time, heads, head_dim = x.shape
        work = torch.promote_types(x.dtype, torch.float32)
        values, steps = x.to(work), dt.to(work)[..., None]  # [batch, time, head, 1]

        def tokens(item: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return item.to(work).transpose(0, 1).reshape(time, batch * heads, 1, item.shape[3]).unbind()

        def of_heads(item: torch.Tensor) -> torch.Tensor:
            return item.repeat_interleave(heads // item.shape[2], dim=2)

        decays = (steps * A.to(work)[:, None]).exp()
        state, outputs = None, []
        for x_t, decay, B_t, C_t in zip(
            tokens(steps * values), tokens(decays), tokens(of_heads(B)), tokens(of_heads(C)), strict=True
        ):
            written = x_t.mT * B_t
            state = written if state is None else decay * state + written
            outputs.append(torch.bmm(C_t, state.mT))
        out = torch.stack(outputs).reshape(time, batch, heads, head_dim).transpose(0, 1)
        return (out + D.to(work)[:, None] * values).to(x.dtype)


batch_size = 2
seq_len = 1024
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
    return [x, dt, A, B, C, D]


def get_init_inputs():
    return []
