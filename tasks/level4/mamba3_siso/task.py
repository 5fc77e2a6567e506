import torch
import torch.nn as nn


class Model(nn.Module):
    """Mamba-3, token by token.

    Per head the state S has a row for each channel of v and a column for each of the keys. Angles add up from token to token
    and rotate queries and keys, and the input enters by the trapezoidal rule, as a mean of this token's and the one before
    it:

        a_t = a_{t-1} + pi tanh(angles_t) dt_t,    q'_t = R(a_t) (q_t + q_bias),    k'_t = R(a_t) (k_t + k_bias)
        U_t = v_t k'_t^T,    l_t = sigmoid(trap_t),    o_t = S_t q'_t + D v_t
        S_t = exp(adt_t) S_{t-1} + (1 - l_t) dt_t exp(adt_t) U_{t-1} + l_t dt_t U_t

    with S_0 = 0, U_0 = 0 and a_0 = 0 before the first token.

    Shapes: q, k [batch, time, head, key_dim]; v and the output [batch, time, head, value_dim]; adt, dt, trap [batch, time,
    head], dt positive, adt its product with a decay rate and not positive; q_bias, k_bias [head, key_dim]; angles [batch,
    time, head, num_angles]; D [head]. key_dim is 4 * num_angles: R rotates the pairs (2i, 2i + 1) of the first half of a
    vector, and leaves the other half as it is. 16-bit inputs are computed with in float32 and the output is rounded once.
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
        D: torch.Tensor,
    ) -> torch.Tensor:
        work = torch.promote_types(v.dtype, torch.float32)
        operands = (q, k, v, adt, dt, trap, q_bias, k_bias, angles, D)
        return recur(*(operand.to(work) for operand in operands)).to(v.dtype)


def recur(q, k, v, adt, dt, trap, q_bias, k_bias, angles, D):
    """The outputs of sequences of one length, from states of zeros; all tensors have the dtype that is computed in."""
    batch, time, heads = v.shape[:3]
    angle = (angles.tanh() * dt[..., None] * torch.pi).cumsum(1)
    query, key = rotate(q + q_bias, angle)[..., None, :], rotate(k + k_bias, angle)[..., None, :]
    value = v[..., None, :]  # [batch, time, head, 1, value_dim]
    part = trap.sigmoid()[..., None, None]
    step, decay = dt[..., None, None], adt.exp()[..., None, None]
    # What enters the state is one product: of this token's values and the last one's, with their keys.
    late = value[:, :-1] * ((1 - part) * step * decay)[:, 1:]
    values = torch.cat((after_zeros(late), value * (part * step)), dim=3)
    keys = torch.cat((after_zeros(key[:, :-1]), key), dim=3)

    def tokens(x):
        """One tensor per token, each with a matrix for every batch entry and head."""
        return x.transpose(0, 1).reshape(time, batch * heads, *x.shape[3:]).unbind()

    state, outputs = None, []
    for q_t, values_t, keys_t, decay_t in zip(tokens(query), tokens(values), tokens(keys), tokens(decay), strict=True):
        state = torch.bmm(values_t.mT, keys_t) if state is None else torch.baddbmm(decay_t * state, values_t.mT, keys_t)
        outputs.append(torch.bmm(q_t, state.mT))
    out = torch.stack(outputs).reshape(time, batch, heads, *value.shape[3:]).transpose(0, 1)
    return out[..., 0, :] + D[:, None] * v


def after_zeros(x):
    """The entries after one of zeros, for the first token."""
    return torch.cat((x.new_zeros(x.shape[0], 1, *x.shape[2:]), x), dim=1)


def rotate(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Rotate neighbouring pairs of the last dimension, the first of them by one angle each; the others stay."""
    turned, rest = x[..., : 2 * angle.shape[-1]], x[..., 2 * angle.shape[-1] :]
    a, b = turned.unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2), rest), dim=-1)


batch_size = 2
seq_len = 1024
num_heads = 16
num_angles = 32
value_dim = 64


def get_inputs():
    q = torch.rand(batch_size, seq_len, num_heads, 4 * num_angles)
    k = torch.rand(batch_size, seq_len, num_heads, 4 * num_angles)
    v = torch.rand(batch_size, seq_len, num_heads, value_dim)
    adt = -0.5 * torch.rand(batch_size, seq_len, num_heads)
    dt = 0.01 + torch.rand(batch_size, seq_len, num_heads)
    trap = torch.rand(batch_size, seq_len, num_heads)
    q_bias = torch.rand(num_heads, 4 * num_angles)
    k_bias = torch.rand(num_heads, 4 * num_angles)
    angles = torch.rand(batch_size, seq_len, num_heads, num_angles)
    D = torch.rand(num_heads)
    return [q, k, v, adt, dt, trap, q_bias, k_bias, angles, D]


def get_init_inputs():
    return []
