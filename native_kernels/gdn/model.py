"""The staged forward and backward pass of the family, chunk by chunk, as the kernels do it, in any dtype of torch.

Within a chunk let ``c`` be the running sum of the gates, ``G = exp(c)``, ``R = exp(c_last - c)``, ``G_last`` its last row,
``S`` the state before the chunk and ``dS`` the gradient of the state after it. ``tril`` keeps the diagonal, ``strict`` does
not. Then

    M = strict(K K^T, gated)    P = tril(Q K^T, gated)    A = (I + beta M)^-1
    W = V - (G K) S             U = A (beta W)            o = s (G Q) S + s P U          S' = G_last S + (R K)^T U
    dU = s P^T do + (R K) dS    lam = A^T dU              dS' = G_last dS + s (G Q)^T do - (G K)^T (beta lam)
    dP = s tril(do U^T)         dL = -strict(lam U^T)     dM = beta dL
    dq = s G (do S^T) + dP K    dv = beta lam             dbeta = lam . W + sum_j dL M
    dk = R (U dS^T) - G ((beta lam) S^T) + dP^T Q + dM K + dM^T K      (dP and dM gated)

``lam`` solves the transposed triangular system, so that the gradient of the inverse is the one product ``lam U^T``: the
adjoint of ``U = A X`` with respect to ``I + beta M`` is ``-(A^T dU) U^T``. Without the delta rule ``U = V``, ``M`` is absent
and ``dv = dU``. A tail is filled up with tokens that have ``q = k = v = g = beta = 0``, which neither write nor decay.

What is not finite is taken out of the operands and put back by the rules of :mod:`native_kernels.gdn.poison`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from native_kernels.gdn import channel, poison
from native_kernels.gdn.members import Member
from native_kernels.gdn.poison import bad, clean, spoil
from native_kernels.gdn.rounding import EXACT, Rounding

CHUNK = 64
BLOCK = 16


@dataclass(frozen=True)
class Chunk:
    """Tokens of one chunk, ``[n, chunk, ...]``, and what is made of them alone (stage 1)."""

    q: Tensor
    k: Tensor
    v: Tensor
    beta: Tensor
    """``[n, chunk, 1]``."""
    c: Tensor
    """Running sum of the gates: ``[n, chunk, 1]`` or, with a channel gate, ``[n, chunk, key]``."""
    p: Tensor
    m: Tensor
    inverse: Tensor
    """The strict part of A."""
    bad: poison.Bad

    @property
    def into(self) -> Tensor:
        """G: decay from before the chunk to each token."""
        return self.c.exp()

    @property
    def out_of(self) -> Tensor:
        """R: decay from each token to the end of the chunk."""
        return (self.c[:, -1:] - self.c).exp()

    @property
    def across(self) -> Tensor:
        """G_last as a factor of the state, ``[n, 1 or key, 1]``."""
        return self.c[:, -1].exp()[:, :, None]


@dataclass(frozen=True)
class Gradients:
    """Gradients of one call; those of what the member does not take are None."""

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor | None
    beta: Tensor | None
    state: Tensor


def unit_lower_inverse(lower: Tensor) -> Tensor:
    """``(I + lower)^-1`` for strictly lower triangular matrices whose size is a multiple of 16 times a power of two.

    The 16 x 16 blocks on the diagonal by forward substitution, then blocks of doubling size are merged:
    ``[[X, 0], [L, Y]]^-1 = [[X^-1, 0], [-Y^-1 L X^-1, Y^-1]]``.
    """
    size = lower.shape[-1]
    out = torch.zeros_like(lower)
    for first in range(0, size, BLOCK):
        here = slice(first, first + BLOCK)
        block = torch.eye(BLOCK, dtype=lower.dtype, device=lower.device).repeat(*lower.shape[:-2], 1, 1)
        for i in range(1, BLOCK):
            block[..., i, :i] = -(lower[..., first + i, None, here] @ block)[..., 0, :i]
        out[..., here, here] = block
    half = BLOCK
    while half < size:
        for first in range(0, size, 2 * half):
            a, b = slice(first, first + half), slice(first + half, first + 2 * half)
            out[..., b, a] = -out[..., b, b] @ (lower[..., b, a] @ out[..., a, a])
        half *= 2
    return out


def prepare(member: Member, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, r: Rounding) -> Chunk:
    """Stage 1, for each chunk by itself."""
    g = g.clamp(min=poison.FLOOR)
    lost = poison.Bad(bad(q), bad(k), bad(v), bad(g), bad(beta))
    q, k, v, g, beta = (clean(x) for x in (q, k, v, g, beta))
    c = g.cumsum(1)
    if member.gate == "channel":
        p, m = channel.product(q, k, c, False, r), channel.product(k, k, c, True, r)
    else:
        decay = between(c)
        p, m = (q @ k.mT) * decay, (k @ k.mT).tril(-1) * decay
    strict = unit_lower_inverse(beta * m).tril(-1) if member.delta else torch.zeros_like(m)
    return Chunk(q, k, v, beta, c, p, m, r("A", strict), lost)


def between(c: Tensor) -> Tensor:
    """``exp(c_i - c_j)`` for ``j <= i``, else 0, of a scalar gate ``[n, chunk, 1]``; masked before the exponential."""
    upper = torch.ones(c.shape[1], c.shape[1], dtype=torch.bool, device=c.device).triu(1)
    return (c - c.mT).masked_fill(upper, -torch.inf).exp()


def scan(member: Member, x: Chunk, state: Tensor, scale: float, r: Rounding) -> tuple[Tensor, Tensor, Tensor]:
    """Stage 2, one chunk: what its tokens write, its output, and the state after it."""
    held, lost = clean(r("S", state)), bad(state)
    if member.gate == "channel":
        recalled, read = r("gated", x.into * x.k) @ held, r("gated", x.into * x.q) @ held
    else:
        recalled, read = x.into * (x.k @ held), x.into * (x.q @ held)
    u = x.v
    if member.delta:
        w = x.beta * (x.v - recalled)
        u = w + x.inverse @ r("W", w)
    o = scale * (read + r("P", x.p) @ r("U", u))
    channels = member.gate == "channel"
    written = r("gated", x.out_of * x.k).mT @ r("U", u) if channels else x.k.mT @ r("U", x.out_of * u)
    after = spoil(x.across * state + written, poison.after(member, x.bad, lost))
    return u, spoil(o, poison.outputs(member, x.bad, lost)), after


def reverse_scan(
    member: Member, x: Chunk, do: Tensor, dstate: Tensor, scale: float, r: Rounding
) -> tuple[Tensor, Tensor, Tensor]:
    """Stage 3, one chunk: ``lam`` (``dU`` without the delta rule), dv, and the gradient of the state before the chunk."""
    lost = bad(do), bad(dstate)
    do, held = clean(do), clean(r("dS", dstate))
    channels = member.gate == "channel"
    from_state = r("gated", x.out_of * x.k) @ held if channels else x.out_of * (x.k @ held)
    lam = scale * (r("P", x.p).mT @ do) + from_state
    dread = r("gated", x.into * x.q).mT @ r("dO", scale * do) if channels else x.q.mT @ r("dO", scale * x.into * do)
    dstate = x.across * dstate + dread
    if member.delta:
        lam = lam + x.inverse.mT @ r("dU", lam)
        if channels:
            dstate = dstate - r("gated", x.into * x.k).mT @ r("lam", x.beta * lam)
        else:
            dstate = dstate - x.k.mT @ r("lam", x.beta * x.into * lam)
    dv = spoil(x.beta * lam, poison.adjoint(member, x.bad, *lost) | x.bad.beta)
    return lam, dv, spoil(dstate, poison.before(member, x.bad, *lost))


def gradients(
    member: Member, x: Chunk, do: Tensor, u: Tensor, lam: Tensor, state: Tensor, dstate: Tensor, scale: float, r: Rounding
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Stage 4, one chunk: gradients of q, k, of the gates ``[n, chunk, 1 or key]``, and of beta.

    ``u``, ``lam`` and the states come as memory holds them. The gates' gradients of a scalar gate are row and column sums of
    unrounded tiles; those of a channel gate are products of each operand with the part of its gradient that its decay took.
    """
    lost = poison.gradients(member, x.bad, bad(do), bad(state), bad(dstate), member.gate == "channel")
    do, state, dstate = clean(do), clean(state), clean(dstate)
    dp = scale * (do @ u.mT).tril()
    read, written, recalled = do @ state.mT, u @ dstate.mT, lam @ state.mT
    dq_read, dk_written = scale * x.into * read, x.out_of * written
    last = (dk_written * x.k).sum(1) + x.across[:, :, 0] * (state * dstate).sum(2)
    if not member.delta:
        dl, dk_recalled = torch.zeros_like(dp), torch.zeros_like(written)
    else:
        dl = -(lam @ u.mT).tril(-1)
        dk_recalled = -x.beta * x.into * recalled
    dm = x.beta * dl
    if member.gate == "channel":
        dq = dq_read + channel.rows(dp, x.k, x.c, False, r, "dP")
        dk_later = dk_written + channel.columns(dp, x.q, x.c, False, r, "dP")
        dk_earlier = dk_recalled
        if member.delta:
            dk_later = dk_later + channel.columns(dm, x.k, x.c, True, r, "dM")
            dk_earlier = dk_earlier + channel.rows(dm, x.k, x.c, True, r, "dM")
        dk = dk_later + dk_earlier
        dc = x.q * dq + x.k * (dk_earlier - dk_later)
        dc[:, -1] += last
    else:
        decay = between(x.c)
        dp, weight = dp * decay, dp * x.p + dm * x.m
        dm = dm * decay
        dq = dq_read + r("dP", dp) @ x.k
        dk = dk_written + dk_recalled + r("dP", dp).mT @ x.q + r("dM", dm + dm.mT) @ x.k
        dc = (x.q * dq_read + x.k * (dk_recalled - dk_written)).sum(2) + weight.sum(2) - weight.sum(1)
        dc[:, -1] += last.sum(1)
        dc = dc[:, :, None]
    dg = dc.flip(1).cumsum(1).flip(1)  # a gate acts on the running sums of the later tokens of its chunk too
    dbeta = (lam * x.v).sum(2) - (x.into * recalled * x.k).sum(2) + (dl * x.m).sum(2)
    return spoil(dq, lost.q), spoil(dk, lost.k), spoil(dg, lost.g), spoil(dbeta, lost.beta)


def forward(
    member: Member,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None,
    beta: Tensor | None,
    state: Tensor,
    scale: float,
    r: Rounding = EXACT,
) -> tuple[Tensor, Tensor]:
    """Output and last state; arguments as in :func:`native_kernels.gdn.recurrence.recurrence`."""
    outputs = []
    for x in _chunks(member, q, k, v, g, beta, r):
        _, o, state = scan(member, x, state, scale, r)
        outputs.append(o)
    return r("out", torch.cat(outputs, 1)[:, : q.shape[1]]) if outputs else v.clone(), state


def backward(
    member: Member,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None,
    beta: Tensor | None,
    state: Tensor,
    scale: float,
    do: Tensor,
    dlast: Tensor,
    r: Rounding = EXACT,
    *,
    group: int = 1,
) -> Gradients:
    """All gradients; the first arguments are those of :func:`forward`.

    ``do`` and ``dlast`` are the gradients of the output and the last state, ``group`` says how many value heads there are for
    each key head: dq and dk are summed over so many rows in a row, and come as ``[n / group, ...]``.
    """
    chunks, saved = _chunks(member, q, k, v, g, beta, r), []
    for x in chunks:
        u, _, after = scan(member, x, state, scale, r)
        saved.append((r("U", u), r("S", state)))
        state = after
    tokens, dstate, parts = q.shape[1], dlast, []
    padded = _padded(do, len(chunks) * CHUNK)
    for index in reversed(range(len(chunks))):
        x, (u, before) = chunks[index], saved[index]
        piece = padded[:, index * CHUNK : (index + 1) * CHUNK]
        lam, dv, earlier = reverse_scan(member, x, piece, dstate, scale, r)
        dq, dk, dg, dbeta = gradients(member, x, piece, u, r("lam", lam), before, r("dS", dstate), scale, r)
        parts.append((dq, dk, dv, dg, dbeta))
        dstate = earlier
    if not parts:
        return Gradients(q, k, v, g, beta, dlast)
    dq, dk, dv, dg, dbeta = (torch.cat(part, 1)[:, :tokens] for part in zip(*parts[::-1], strict=True))
    dq, dk = (d.unflatten(0, (-1, group)).sum(1) for d in (dq, dk))
    return Gradients(
        r("out", dq),
        r("out", dk),
        r("out", dv),
        None if g is None else dg if member.gate == "channel" else dg[..., 0],
        dbeta if member.delta else None,
        dstate,
    )


def _chunks(member: Member, q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor | None, r: Rounding) -> list[Chunk]:
    n, tokens, _ = q.shape
    if g is None:
        g = q.new_zeros(n, tokens, 1)
    elif member.gate == "scalar":
        g = g[..., None]
    beta = q.new_ones(n, tokens, 1) if beta is None else beta[..., None]
    size = -(-tokens // CHUNK) * CHUNK
    split = zip(*(_padded(x, size).split(CHUNK, 1) for x in (q, k, v, g, beta)), strict=True) if size else ()
    return [prepare(member, q, k, v, g, beta, r) for q, k, v, g, beta in split]


def _padded(x: Tensor, tokens: int) -> Tensor:
    return torch.nn.functional.pad(x, (0, 0, 0, tokens - x.shape[1]))
