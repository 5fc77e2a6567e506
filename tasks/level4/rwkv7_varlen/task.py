import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """RWKV-7 time mixing, a delta rule that removes by one key and writes by another, over sequences packed one after the other.

    Per head the state S maps keys to values. Each token takes out of it what it recalls for ``kappa``, by the part ``a`` in
    each key channel, lets the rest decay by ``exp(w)``, adds the value ``v`` at the key ``k``, and reads it with ``r``; there
    is no scale:

        S_t = diag(exp(w_t)) S_{t-1} - (a_t * kappa_t) (S_{t-1}^T kappa_t)^T + k_t v_t^T,    o_t = S_t^T r_t

    Sequence n holds the tokens from ``cu_seqlens[n]`` to before ``cu_seqlens[n + 1]`` and starts from S = 0.

    Kernels that take the factors of a rank-one term, diag(exp(w)) + b a^T, are given a = -kappa and b = a * kappa.

    Shapes: r, w, k, kappa, a [1, time, head, key_dim]; v and the output [1, time, head, value_dim]; cu_seqlens [sequences +
    1], int64.
    16-bit inputs are computed with in float32 and the output is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self,
        r: torch.Tensor,
        w: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        kappa: torch.Tensor,
        a: torch.Tensor,
        cu_seqlens: torch.Tensor,
    ) -> torch.Tensor:
        _, time, heads, key_dim = r.shape
        value_dim = v.shape[-1]
        dtype, work = v.dtype, torch.promote_types(v.dtype, torch.float32)
        r, w, k, v, kappa, a = (x.to(work) for x in (r, w, k, v, kappa, a))
        decay, remove = w.exp(), a * kappa

        def tokens(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """One tensor per token, each with a row vector for every head."""
            return x.reshape(time, heads, 1, x.shape[3]).unbind()

        starts = set(cu_seqlens.tolist())
        state = zeros = torch.zeros(heads, key_dim, value_dim, dtype=work, device=v.device)
        outputs = []
        steps = zip(tokens(r), tokens(k), tokens(v), tokens(kappa), tokens(decay), tokens(remove), strict=True)
        for t, (r_t, k_t, v_t, kappa_t, decay_t, remove_t) in enumerate(steps):
            if t in starts:
                state = zeros
            removed = torch.bmm(kappa_t, state)
            state = state * decay_t.mT - remove_t.mT * removed + k_t.mT * v_t
            outputs.append(torch.bmm(r_t, state))
        out = torch.stack(outputs)
        return out.reshape(1, time, heads, value_dim).to(dtype)


total_len = 1024
num_boundaries = 9
num_heads = 16
key_dim = 128
value_dim = 128


def get_inputs():
    r = torch.rand(1, total_len, num_heads, key_dim)
    w = -0.6 * torch.rand(1, total_len, num_heads, key_dim)
    k = torch.rand(1, total_len, num_heads, key_dim)
    v = torch.rand(1, total_len, num_heads, value_dim)
    kappa = F.normalize(torch.rand(1, total_len, num_heads, key_dim), dim=-1)
    a = torch.rand(1, total_len, num_heads, key_dim)
    # Each sequence is longer than the one before it, and none is empty.
    n = num_boundaries - 1
    cu_seqlens = torch.tensor([i + (total_len - n) * i**3 // n**3 for i in range(n + 1)])
    return [r, w, k, v, kappa, a, cu_seqlens]


def get_init_inputs():
    return []
