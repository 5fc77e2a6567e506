import torch
import torch.nn as nn


class Model(nn.Module):
    """Mamba-3 with several inputs and outputs for a few new tokens, from given states to the next ones.

    Per head the state S has a row for each channel of v and a column for each of the keys. Angles add up from token to token
    and rotate queries and keys, and the input enters by the trapezoidal rule, as a mean of this token's and the one before
    it; both have the rank mimo_rank, and v is scaled anew for every part of it:

        a_t = a_{t-1} + pi tanh(angles_t) dt_t,    q'_t = R(a_t) (q_t + q_bias),    k'_t = R(a_t) (k_t + k_bias)
        U_t = sum over r of (mimo_v_r v_t) k'_{t,r}^T,    l_t = sigmoid(trap_t)
        S_t = exp(adt_t) S_{t-1} + (1 - l_t) dt_t exp(adt_t) U_{t-1} + l_t dt_t U_t
        o_t = sum over r of mimo_o_r (S_t q'_{t,r} + D mimo_v_r v_t)

    with S_0 = state, a_0 = angle, k'_0 = prev_k and v_0 = prev_v, which are what the token before the first one left.

    Shapes: q, k [batch, time, head, rank, key_dim]; v and the output [batch, time, head, value_dim]; adt, dt, trap [batch,
    time, head], dt positive, adt its product with a decay rate and not positive; q_bias, k_bias [head, rank, key_dim]; angles
    [batch, time, head, num_angles]; mimo_v, mimo_o [head, rank, value_dim]; D [head]; state [batch, head, value_dim,
    key_dim]; angle [batch, head, num_angles]; prev_k [batch, head, rank, key_dim]; prev_v [batch, head, value_dim]. key_dim
    is 4 * num_angles: R rotates the pairs (2i, 2i + 1) of the first half of a vector, and leaves the other half as it is.

    The result is the output, and S, a and k' after the last token, new tensors; angles are not reduced by whole turns. 16-bit
    inputs are computed with in float32, and each result is rounded once.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        adt: torch.Tensor,
        dt: torch.Tensor,
        trap: torch.Tensor,
        q_bias: torch.Tensor,
        k_bias: torch.Tensor,
        angles: torch.Tensor,
        mimo_v: torch.Tensor,
        mimo_o: torch.Tensor,
        D: torch.Tensor,
        state: torch.Tensor,
        angle: torch.Tensor,
        prev_k: torch.Tensor,
        prev_v: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        work = torch.promote_types(v.dtype, torch.float32)
        q_, k_, values, steps, parts = (item.to(work) for item in (q, k, v, dt, trap))
        turns = angles.to(work).tanh() * steps[..., None] * torch.pi
        decay, part = adt.to(work).exp()[..., None, None], parts.sigmoid()
        before = ((1 - part) * steps)[..., None, None] * decay
        now = (part * steps)[..., None, None]
        scale, mix, skip = mimo_v.to(work), mimo_o.to(work), D.to(work)[:, None, None]
        current, turned, key = state.to(work), angle.to(work), prev_k.to(work)
        previous = (prev_v.to(work)[..., None, :] * scale).mT @ key
        outputs = []
        for t in range(q.shape[1]):
            turned = turned + turns[:, t]
            query = rotate(q_[:, t] + q_bias.to(work), turned[:, :, None])
            key = rotate(k_[:, t] + k_bias.to(work), turned[:, :, None])
            value = values[:, t, :, None] * scale  # [batch, head, rank, value_dim]
            added = value.mT @ key
            current = decay[:, t] * current + before[:, t] * previous + now[:, t] * added
            previous = added
            outputs.append(((query @ current.mT + skip * value) * mix).sum(dim=2))
        out = torch.stack(outputs, dim=1)
        return out.to(v.dtype), current.to(state.dtype), turned.to(angle.dtype), key.to(prev_k.dtype)


def rotate(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Rotate neighbouring pairs of the last dimension, the first of them by one angle each; the others stay."""
    turned, rest = x[..., : 2 * angle.shape[-1]], x[..., 2 * angle.shape[-1] :]
    a, b = turned.unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2), rest), dim=-1)


batch_size = 32
seq_len = 1
num_heads = 16
num_angles = 32
mimo_rank = 4
value_dim = 64


def get_inputs():
    q = torch.rand(batch_size, seq_len, num_heads, mimo_rank, 4 * num_angles)
    k = torch.rand(batch_size, seq_len, num_heads, mimo_rank, 4 * num_angles)
    v = torch.rand(batch_size, seq_len, num_heads, value_dim)
    adt = -0.5 * torch.rand(batch_size, seq_len, num_heads)
    dt = 0.01 + torch.rand(batch_size, seq_len, num_heads)
    trap = torch.rand(batch_size, seq_len, num_heads)
    q_bias = torch.rand(num_heads, mimo_rank, 4 * num_angles)
    k_bias = torch.rand(num_heads, mimo_rank, 4 * num_angles)
    angles = torch.rand(batch_size, seq_len, num_heads, num_angles)
    mimo_v = torch.rand(num_heads, mimo_rank, value_dim) / mimo_rank
    mimo_o = torch.rand(num_heads, mimo_rank, value_dim) / mimo_rank
    D = torch.rand(num_heads)
    state = torch.rand(batch_size, num_heads, value_dim, 4 * num_angles)
    angle = torch.rand(batch_size, num_heads, num_angles)
    prev_k = torch.rand(batch_size, num_heads, mimo_rank, 4 * num_angles)
    prev_v = torch.rand(batch_size, num_heads, value_dim)
    return [q, k, v, adt, dt, trap, q_bias, k_bias, angles, mimo_v, mimo_o, D, state, angle, prev_k, prev_v]


def get_init_inputs():
    return []
