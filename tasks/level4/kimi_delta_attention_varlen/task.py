import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Kimi delta attention (KDA), a delta rule with a decay for each key channel, over sequences packed one after the other.

    Per head the state S maps keys to values. Each token lets every key channel decay at a rate of its own, moves what the
    state then recalls for ``k`` towards ``v`` by the part ``beta``, and reads it with ``q``:

        R_t = diag(exp(g_t)) S_{t-1},    S_t = R_t + k_t (beta_t (v_t - R_t^T k_t))^T,
        o_t = S_t^T q_t / sqrt(key_dim)

    Sequence n holds the tokens from ``cu_seqlens[n]`` to before ``cu_seqlens[n + 1]`` and starts from S = 0.

    Shapes: q, k, g [1, time, head, key_dim]; v and the output [1, time, head, value_dim]; beta [1, time, head]; cu_seqlens
    [sequences + 1], int64.
    16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor, cu_seqlens: torch.Tensor
    ) -> torch.Tensor:
        _, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        dtype, work = v.dtype, torch.promote_types(v.dtype, torch.float32)
        q, k, v, g, beta = (x.to(work) for x in (q, k, v, g, beta))
        decay, write = g.exp(), beta[..., None] * k

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every head."""
            return x.reshape(time, heads, 1, x.shape[3]).unbind()

        starts = set(cu_seqlens.tolist())
        state = zeros = torch.zeros(heads, key_dim, value_dim, dtype=work, device=v.device)
        outputs = []
        steps = zip(tokens(q), tokens(k), tokens(v), tokens(decay), tokens(write), strict=True)
        for t, (q_t, k_t, v_t, decay_t, write_t) in enumerate(steps):
            if t in starts:
                state = zeros
            state = state * decay_t.mT
            state = state + write_t.mT * (v_t - torch.bmm(k_t, state))
            outputs.append(torch.bmm(q_t, state))
        out = torch.stack(outputs) * key_dim**-0.5
        return out.reshape(1, time, heads, value_dim).to(dtype)


total_len = 1024
num_boundaries = 9
num_heads = 16
key_dim = 128
value_dim = 128


def get_inputs():
    q = torch.rand(1, total_len, num_heads, key_dim)
    k = F.normalize(torch.rand(1, total_len, num_heads, key_dim), dim=-1)
    v = torch.rand(1, total_len, num_heads, value_dim)
    g = -torch.rand(1, total_len, num_heads, key_dim)
    beta = torch.rand(1, total_len, num_heads)
    # Each sequence is longer than the one before it, and none is empty.
    n = num_boundaries - 1
    cu_seqlens = torch.tensor([i + (total_len - n) * i**3 // n**3 for i in range(n + 1)])
    return [q, k, v, g, beta, cu_seqlens]


def get_init_inputs():
    return []
