from itertools import pairwise

import torch
import torch.nn as nn


class Model(nn.Module):
    """Gated linear attention over packed sequences of several lengths, token by token.

    Sequence n holds the tokens from cu_seqlens[n] to before cu_seqlens[n + 1] and starts from a state of zeros:

        S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T,    o_t = S_t^T q_t / sqrt(key_dim)

    Shapes: q, k, g [1, time, head, key_dim]; v and the output [1, time, head, value_dim]; cu_seqlens [sequences + 1], from 0
    to time. g is the natural logarithm of the decay. 16-bit inputs are computed with in float32 and the output is rounded
    once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, cu_seqlens: torch.Tensor
    ) -> torch.Tensor:
        _, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        work = torch.promote_types(v.dtype, torch.float32)

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every head."""
            return x.to(work).reshape(time, heads, 1, x.shape[3]).unbind()

        query, key, value, decay = tokens(q), tokens(k), tokens(v), tokens(g.to(work).exp())
        outputs = []
        for start, end in pairwise(cu_seqlens.tolist()):
            state = None
            for t in range(start, end):
                written = key[t].mT * value[t]
                state = written if state is None else decay[t].mT * state + written
                outputs.append(torch.bmm(query[t], state))
        out = torch.stack(outputs) * key_dim**-0.5
        return out.reshape(1, time, heads, value_dim).to(v.dtype)


total_len = 1024
num_boundaries = 9
num_heads = 16
key_dim = 128
value_dim = 128


def get_inputs():
    q = torch.rand(1, total_len, num_heads, key_dim)
    k = torch.rand(1, total_len, num_heads, key_dim)
    v = torch.rand(1, total_len, num_heads, value_dim)
    g = -0.5 * torch.rand(1, total_len, num_heads, key_dim)
    # Each sequence is longer than the one before it, and none is empty.
    n = num_boundaries - 1
    cu_seqlens = torch.tensor([i + (total_len - n) * i**3 // n**3 for i in range(n + 1)])
    return [q, k, v, g, cu_seqlens]


def get_init_inputs():
    return []
