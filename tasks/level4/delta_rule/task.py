import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Delta rule (DeltaNet), token by token.

    Per head the state S maps keys to values. Each token moves what it recalls for ``k`` towards ``v`` by the part ``beta``,
    and reads it with ``q``; nothing decays:

        S_t = S_{t-1} + k_t (beta_t (v_t - S_{t-1}^T k_t))^T,    o_t = S_t^T q_t / sqrt(key_dim),    S_0 = 0

    Shapes: q, k [batch, time, head, key_dim]; v and the output [batch, time, head, value_dim]; beta [batch, time, head].
    16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        batch, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        dtype, work = v.dtype, torch.promote_types(v.dtype, torch.float32)
        q, k, v, beta = (x.to(work) for x in (q, k, v, beta))
        write = beta[..., None] * k

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return x.transpose(0, 1).reshape(time, batch * heads, 1, x.shape[3]).unbind()

        state = torch.zeros(batch * heads, key_dim, value_dim, dtype=work, device=v.device)
        outputs = []
        steps = zip(tokens(q), tokens(k), tokens(v), tokens(write), strict=True)
        for q_t, k_t, v_t, write_t in steps:
            state = state + write_t.mT * (v_t - torch.bmm(k_t, state))
            outputs.append(torch.bmm(q_t, state))
        out = torch.stack(outputs) * key_dim**-0.5
        return out.reshape(time, batch, heads, value_dim).transpose(0, 1).to(dtype).contiguous()


batch_size = 2
seq_len = 1024
num_heads = 16
key_dim = 128
value_dim = 128


def get_inputs():
    q = torch.rand(batch_size, seq_len, num_heads, key_dim)
    k = F.normalize(torch.rand(batch_size, seq_len, num_heads, key_dim), dim=-1)
    v = torch.rand(batch_size, seq_len, num_heads, value_dim)
    beta = torch.rand(batch_size, seq_len, num_heads)
    return [q, k, v, beta]


def get_init_inputs():
    return []
