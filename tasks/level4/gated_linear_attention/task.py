import torch
import torch.nn as nn


class Model(nn.Module):
    """Gated linear attention, token by token.

    Per head the state S maps keys to values. Each token lets every row of it decay by a gate of its own, adds what it writes,
    and reads the result:

        S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T,    o_t = S_t^T q_t / sqrt(key_dim),    S_0 = 0

    Shapes: q, k, g [batch, time, head, key_dim]; v and the output [batch, time, head, value_dim]. g is the natural logarithm
    of the decay. 16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        batch, time, heads, key_dim = q.shape
        value_dim = v.shape[-1]
        work = torch.promote_types(v.dtype, torch.float32)

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return x.to(work).transpose(0, 1).reshape(time, batch * heads, 1, x.shape[3]).unbind()

        state, outputs = None, []
        for q_t, k_t, v_t, decay in zip(tokens(q), tokens(k), tokens(v), tokens(g.to(work).exp()), strict=True):
            written = k_t.mT * v_t
            state = written if state is None else decay.mT * state + written
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
    g = -0.5 * torch.rand(batch_size, seq_len, num_heads, key_dim)
    return [q, k, v, g]


def get_init_inputs():
    return []
