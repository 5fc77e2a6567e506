import torch
import torch.nn as nn


class Model(nn.Module):
    """Retention for a few new tokens, from a given state to the next one.

    Per head h the state S maps keys to values, and every new token updates and reads it:

        S_t = (1 - 2^(-5-h)) S_{t-1} + k_t v_t^T,    o_t = S_t^T q_t / sqrt(key_dim),    S_0 = state

    Shapes: q, k [batch, time, head, key_dim]; v and the output [batch, time, head, value_dim]; state [batch, head, key_dim,
    value_dim]. The result is the output and the state after the last token, a new tensor. Heads count from 0. 16-bit inputs
    are computed with in float32, and each result is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        heads, key_dim = q.shape[2:]
        work = torch.promote_types(v.dtype, torch.float32)
        query, key, value = (x.to(work)[..., None, :] for x in (q, k, v))  # [batch, time, head, 1, dim]
        decay = (1 - 2.0 ** (-5 - torch.arange(heads, dtype=work, device=v.device)))[:, None, None]
        current = state.to(work)
        outputs = []
        for t in range(q.shape[1]):
            current = decay * current + key[:, t].mT * value[:, t]
            outputs.append((query[:, t] @ current)[..., 0, :])
        out = torch.stack(outputs, dim=1) * key_dim**-0.5
        return out.to(v.dtype), current.to(state.dtype)


batch_size = 32
seq_len = 1
num_heads = 16
key_dim = 128
value_dim = 128


def get_inputs():
    q = torch.rand(batch_size, seq_len, num_heads, key_dim)
    k = torch.rand(batch_size, seq_len, num_heads, key_dim)
    v = torch.rand(batch_size, seq_len, num_heads, value_dim)
    state = torch.rand(batch_size, num_heads, key_dim, value_dim)
    return [q, k, v, state]


def get_init_inputs():
    return []
