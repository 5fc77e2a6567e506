from itertools import pairwise

import torch
import torch.nn as nn


class Model(nn.Module):
    """Lightning attention over packed sequences of several lengths, token by token.

    Sequence n holds the tokens from cu_seqlens[n] to before cu_seqlens[n + 1] and starts from a state of zeros:

        S_t = exp(-slope) S_{t-1} + k_t v_t^T,    o_t = S_t^T q_t

    Shapes: q, k [1, time, head, key_dim]; v and the output [1, time, head, value_dim]; slope [head]; cu_seqlens [sequences +
    1], from 0 to time. With exp(-slope) = 1 - 2^(-5-h) for head h, and q divided by sqrt(key_dim), this is retention. 16-bit
    inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, slope: torch.Tensor, cu_seqlens: torch.Tensor
    ) -> torch.Tensor:
        _, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        work = torch.promote_types(v.dtype, torch.float32)

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every head."""
            return x.to(work).reshape(time, heads, 1, x.shape[3]).unbind()

        query, key, value = tokens(q), tokens(k), tokens(v)
        decay = (-slope.to(work)).exp()[:, None, None]
        outputs = []
        for start, end in pairwise(cu_seqlens.tolist()):
            state = torch.zeros(heads, key_dim, value_dim, dtype=work, device=v.device)
            for t in range(start, end):
                state = decay * state + key[t].mT * value[t]
                outputs.append(torch.bmm(query[t], state))
        out = torch.stack(outputs)
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
    slope = 2.0 ** (-8 * (1 + torch.arange(num_heads)) / num_heads)
    # Each sequence is longer than the one before it, and none is empty.
    n = num_boundaries - 1
    cu_seqlens = torch.tensor([i + (total_len - n) * i**3 // n**3 for i in range(n + 1)])
    return [q, k, v, slope, cu_seqlens]


def get_init_inputs():
    return []
