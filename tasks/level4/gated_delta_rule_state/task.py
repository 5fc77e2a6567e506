import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Gated delta rule, from a given state that is handed on.

    Per head the state S maps keys to values. Each token lets it decay, moves what it recalls for ``k`` towards ``v`` by the
    part ``beta``, and reads it with ``q``:

        S_t = exp(g_t) S_{t-1} + k_t (beta_t (v_t - (exp(g_t) S_{t-1})^T k_t))^T,    o_t = S_t^T q_t / sqrt(key_dim)

    S_0 is ``state``, which stays as it is. The outputs are o and the state after the last token.

    Shapes: q, k [batch, time, head, key_dim]; v and o [batch, time, head, value_dim]; g, beta [batch, time, head]; states
    [batch, head, key_dim, value_dim].
    16-bit inputs are computed with in float32 and each output is rounded once, the state to the dtype in which it came.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        batch, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        dtype, work = v.dtype, torch.promote_types(v.dtype, torch.float32)
        q, k, v, g, beta = (x.to(work) for x in (q, k, v, g, beta))
        decay, write = g[..., None].exp(), beta[..., None] * k

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return x.transpose(0, 1).reshape(time, batch * heads, 1, x.shape[3]).unbind()

        carried = state.to(work).reshape(batch * heads, key_dim, value_dim)
        outputs = []
        steps = zip(tokens(q), tokens(k), tokens(v), tokens(decay), tokens(write), strict=True)
        for q_t, k_t, v_t, decay_t, write_t in steps:
            carried = carried * decay_t
            carried = carried + write_t.mT * (v_t - torch.bmm(k_t, carried))
            outputs.append(torch.bmm(q_t, carried))
        out = torch.stack(outputs) * key_dim**-0.5
        out = out.reshape(time, batch, heads, value_dim).transpose(0, 1).to(dtype).contiguous()
        return out, carried.reshape(batch, heads, key_dim, value_dim).to(state.dtype)


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
    state = torch.rand(batch_size, num_heads, key_dim, value_dim)
    return [q, k, v, g, beta, state]


def get_init_inputs():
    return []
