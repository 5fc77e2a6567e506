import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Gated delta rule, token by token.

    Per head the state S maps keys to values. Each token lets it decay, moves what it recalls for ``k`` towards ``v`` by the part
    ``beta``, and reads it with ``q``:

        S_t = exp(g_t) S_{t-1} + k_t (beta_t (v_t - (exp(g_t) S_{t-1})^T k_t))^T,    o_t = S_t^T q_t / sqrt(key_dim)

    Shapes: q, k [batch, time, head, key_dim]; v and the output [batch, time, head, value_dim]; g, beta [batch, time, head].
    16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        batch, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        work = torch.promote_types(v.dtype, torch.float32)

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return x.to(work).transpose(0, 1).reshape(time, batch * heads, 1, x.shape[3]).unbind()

        state = torch.zeros(batch * heads, key_dim, value_dim, dtype=work, device=v.device)
        outputs = []
        steps = zip(tokens(q), tokens(k), tokens(v), tokens(g[..., None]), tokens(beta[..., None]), strict=True)
        for q_t, k_t, v_t, g_t, beta_t in steps:
            state = state * g_t.exp()
            update = beta_t * (v_t - torch.bmm(k_t, state))
            state = state + k_t.transpose(1, 2) * update
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
    k = F.normalize(torch.rand(batch_size, seq_len, num_heads, key_dim), dim=-1)
    v = torch.rand(batch_size, seq_len, num_heads, value_dim)
    g = -torch.rand(batch_size, seq_len, num_heads)
    beta = torch.rand(batch_size, seq_len, num_heads)
    return [q, k, v, g, beta]


def get_init_inputs():
    return []
