from itertools import pairwise

import torch
import torch.nn as nn


class Model(nn.Module):
    """State space duality of Mamba-2 over packed sequences of several lengths, token by token.

    Sequence n holds the tokens from cu_seqlens[n] to before cu_seqlens[n + 1] and starts from a state of zeros:

        S_t = exp(dt_t A) S_{t-1} + dt_t x_t B_t^T,    y_t = S_t C_t + D x_t

    Shapes: x and the output [1, time, head, head_dim]; dt [1, time, head], positive; A [head], not positive; B, C [1, time,
    group, state_dim]; D [head]; cu_seqlens [sequences + 1], from 0 to time. Group i serves the heads from i * heads_per_group
    on. 16-bit inputs are computed with in float32 and the output is rounded once.
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
        cu_seqlens: torch.Tensor,
    ) -> torch.Tensor:
        _, time, heads, head_dim = x.shape
        work = torch.promote_types(x.dtype, torch.float32)
        values, steps = x.to(work), dt.to(work)[..., None]  # [1, time, head, 1]

        def tokens(item: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every head."""
            return item.to(work).reshape(time, heads, 1, item.shape[3]).unbind()

        def of_heads(item: torch.Tensor) -> torch.Tensor:
            return item.repeat_interleave(heads // item.shape[2], dim=2)

        columns, decays = tokens(steps * values), tokens((steps * A.to(work)[:, None]).exp())
        write, read = tokens(of_heads(B)), tokens(of_heads(C))
        outputs = []
        for start, end in pairwise(cu_seqlens.tolist()):
            state = None
            for t in range(start, end):
                written = columns[t].mT * write[t]
                state = written if state is None else decays[t] * state + written
                outputs.append(torch.bmm(read[t], state.mT))
        out = torch.stack(outputs).reshape(1, time, heads, head_dim)
        return (out + D.to(work)[:, None] * values).to(x.dtype)


total_len = 1024
num_boundaries = 9
num_groups = 2
heads_per_group = 8
head_dim = 64
state_dim = 128


def get_inputs():
    heads = num_groups * heads_per_group
    x = torch.rand(1, total_len, heads, head_dim)
    dt = 0.01 + torch.rand(1, total_len, heads)
    A = -torch.rand(heads)
    B = torch.rand(1, total_len, num_groups, state_dim)
    C = torch.rand(1, total_len, num_groups, state_dim)
    D = torch.rand(heads)
    # Each sequence is longer than the one before it, and none is empty.
    n = num_boundaries - 1
    cu_seqlens = torch.tensor([i + (total_len - n) * i**3 // n**3 for i in range(n + 1)])
    return [x, dt, A, B, C, D, cu_seqlens]


def get_init_inputs():
    return []
