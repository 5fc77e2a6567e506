import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """RWKV-7 time mixing, a delta rule that removes by one key and writes by another, token by token.

    Per head the state S maps keys to values. Each token takes out of it what it recalls for ``kappa``, by the part ``a`` in
    each key channel, lets the rest decay by ``exp(w)``, adds the value ``v`` at the key ``k``, and reads it with ``r``; there
    is no scale:

        S_t = diag(exp(w_t)) S_{t-1} - (a_t * kappa_t) (S_{t-1}^T kappa_t)^T + k_t v_t^T,    o_t = S_t^T r_t,    S_0 = 0

    Kernels that take the factors of a rank-one term, diag(exp(w)) + b a^T, are given a = -kappa and b = a * kappa.

    Shapes: r, w, k, kappa, a [batch, time, head, key_dim]; v and the output [batch, time, head, value_dim].
    16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, r: torch.Tensor, w: torch.Tensor, k: torch.Tensor, v: torch.Tensor, kappa: torch.Tensor, a: torch.Tensor
    ) -> torch.Tensor:
        batch, time, heads, key_dim = r.shape
        value_dim = v.shape[-1]
        dtype, work = v.dtype, torch.promote_types(v.dtype, torch.float32)
        r, w, k, v, kappa, a = (x.to(work) for x in (r, w, k, v, kappa, a))
        decay, remove = w.exp(), a * kappa

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every batch entry and head."""
            return x.transpose(0, 1).reshape(time, batch * heads, 1, x.shape[3]).unbind()

        state = torch.zeros(batch * heads, key_dim, value_dim, dtype=work, device=v.device)
        outputs = []
        steps = zip(tokens(r), tokens(k), tokens(v), tokens(kappa), tokens(decay), tokens(remove), strict=True)
        for r_t, k_t, v_t, kappa_t, decay_t, remove_t in steps:
            removed = torch.bmm(kappa_t, state)
            state = state * decay_t.mT - remove_t.mT * removed + k_t.mT * v_t
            outputs.append(torch.bmm(r_t, state))
        out = torch.stack(outputs)
        return out.reshape(time, batch, heads, value_dim).transpose(0, 1).to(dtype).contiguous()


batch_size = 2
seq_len = 1024
num_heads = 16
key_dim = 128
value_dim = 128


def get_inputs():
    r = torch.rand(batch_size, seq_len, num_heads, key_dim)
    w = -0.6 * torch.rand(batch_size, seq_len, num_heads, key_dim)
    k = torch.rand(batch_size, seq_len, num_heads, key_dim)
    v = torch.rand(batch_size, seq_len, num_heads, value_dim)
    kappa = F.normalize(torch.rand(batch_size, seq_len, num_heads, key_dim), dim=-1)
    a = torch.rand(batch_size, seq_len, num_heads, key_dim)
    return [r, w, k, v, kappa, a]


def get_init_inputs():
    return []
