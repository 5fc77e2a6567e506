import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Gated delta rule, token by token, with several value heads for each key head.

    Per head the state S maps keys to values. Each token lets it decay, moves what it recalls for ``k`` towards ``v`` by the
    part ``beta``, and reads it with ``q``:

        S_t = exp(g_t) S_{t-1} + k_t (beta_t (v_t - (exp(g_t) S_{t-1})^T k_t))^T,    o_t = S_t^T q_t / sqrt(key_dim),    S_0 = 0

    Value head j goes with key head ``j // group``, where group is how many value heads there are for each key head.

    Shapes: q, k [batch, time, key_head, key_dim]; v and the output [batch, time, value_head, value_dim]; g, beta [batch,
    time, value_head].
    16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        batch, time, _, key_dim = q.shape
        heads, value_dim = v.shape[2:]
        dtype, work = v.dtype, torch.promote_types(v.dtype, torch.float32)
        q, k, v, g, beta = (x.to(work) for x in (q, k, v, g, beta))
        q, k = (x.repeat_interleave(heads // x.shape[2], dim=2) for x in (q, k))
        decay, write = g[..., None].exp(), beta[..., None] * k

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return x.transpose(0, 1).reshape(time, batch * heads, 1, x.shape[3]).unbind()

        state = torch.zeros(batch * heads, key_dim, value_dim, dtype=work, device=v.device)
        outputs = []
        steps = zip(tokens(q), tokens(k), tokens(v), tokens(decay), tokens(write), strict=True)
        for q_t, k_t, v_t, decay_t, write_t in steps:
            state = state * decay_t
            state = state + write_t.mT * (v_t - torch.bmm(k_t, state))
            outputs.append(torch.bmm(q_t, state))
        out = torch.stack(outputs) * key_dim**-0.5
        return out.reshape(time, batch, heads, value_dim).transpose(0, 1).to(dtype).contiguous()


batch_size = 2
seq_len = 1024
num_heads = 8
group_size = 2
key_dim = 128
value_dim = 128


def get_inputs():
    q = torch.rand(batch_size, seq_len, num_heads, key_dim)
    k = F.normalize(torch.rand(batch_size, seq_len, num_heads, key_dim), dim=-1)
    v = torch.rand(batch_size, seq_len, num_heads * group_size, value_dim)
    g = -torch.rand(batch_size, seq_len, num_heads * group_size)
    beta = torch.rand(batch_size, seq_len, num_heads * group_size)
    return [q, k, v, g, beta]


def get_init_inputs():
    return []
