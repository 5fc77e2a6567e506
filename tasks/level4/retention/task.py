import torch
import torch.nn as nn


class Model(nn.Module):
    """Retention, token by token.

    Per head the state S maps keys to values. Each token lets it decay by a factor that depends on the number h of the head
    alone, adds what it writes, and reads the result:

        S_t = (1 - 2^(-5-h)) S_{t-1} + k_t v_t^T,    o_t = S_t^T q_t / sqrt(key_dim),    S_0 = 0

    Shapes: q, k [batch, time, head, key_dim]; v and the output [batch, time, head, value_dim]. Heads count from 0. 16-bit
    inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        batch, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        work = torch.promote_types(v.dtype, torch.float32)

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return x.to(work).transpose(0, 1).reshape(time, batch * heads, 1, x.shape[3]).unbind()

        decay = (1 - 2.0 ** (-5 - torch.arange(heads, dtype=work, device=v.device))).repeat(batch)[:, None, None]
        state = torch.zeros(batch * heads, key_dim, value_dim, dtype=work, device=v.device)
        outputs = []
        for q_t, k_t, v_t in zip(tokens(q), tokens(k), tokens(v), strict=True):
            state = decay * state + k_t.mT * v_t
            outputs.append(torch.bmm(q_t, state))
        out = torch.stack(outputs) * key_dim**-0.5
        return out.reshape(time, batch, heads, value_dim).transpose(0, 1).to(v.dtype).contiguous()


batch_size = 2
seq_len = 1024
num_heads = 16
key_dim = 128
value_dim = 128


def get_inputs():
    q = torch.rand(batch_size, seq_len, num_heads, key_dim)
    k = torch.rand(batch_size, seq_len, num_heads, key_dim)
    v = torch.rand(batch_size, seq_len, num_heads, value_dim)
    return [q, k, v]


def get_init_inputs():
    return []
