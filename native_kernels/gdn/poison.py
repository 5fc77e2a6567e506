"""Which entries of one chunk's results a non-finite input reaches when tokens act one after the other.

A matrix product multiplies its zeros too, and ``0 * NaN`` is NaN: in chunkwise form a bad token reaches earlier tokens of its
chunk. So the products run with bad elements taken out (replaced by 0), and the entries that the recurrence would have lost
are made NaN afterwards, by these rules. They follow from the recurrence and its derivative, element by element; between
chunks the states carry what is not finite. Forward, with the delta rule, a bad element of k, g or beta reaches all that the
token and later ones write, one of v its column of it, and whatever is written fills its column of the state. Without the
delta rule k and g reach rows of the state. Backward the same holds of q, k, g, beta (rows) and the output's gradient
(columns), from later tokens to earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from native_kernels.gdn.members import Member

FLOOR = -100.0
"""Gates below it count as it: its exponential is 0 to float32, and minus infinity is a fair gate."""


@dataclass(frozen=True)
class Bad:
    """Which inputs of a chunk are not finite; ``[n, chunk, ...]``."""

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    """``[n, chunk, 1]`` or, with a channel gate, ``[n, chunk, key]``."""
    beta: Tensor
    """``[n, chunk, 1]``."""

    def any(self) -> bool:
        return any(bool(x.any()) for x in (self.q, self.k, self.v, self.g, self.beta))


def bad(x: Tensor) -> Tensor:
    """Where a tensor is not finite."""
    return ~x.isfinite()


def clean(x: Tensor) -> Tensor:
    """The tensor with 0 in place of what is not finite."""
    return x.masked_fill(bad(x), 0.0)


def spoil(x: Tensor, where: Tensor) -> Tensor:
    """The tensor with NaN where the mask says."""
    return x.masked_fill(where, torch.nan)


def written(member: Member, b: Bad, state: Tensor) -> Tensor:
    """Where what the tokens write is lost, ``[n, chunk, value]``; ``state`` is the mask of the state before the chunk."""
    if not member.delta:
        return b.v
    return _from_here(b.v | _row(b.k) | _row(b.g) | b.beta) | state.any(1, keepdim=True)


def outputs(member: Member, b: Bad, state: Tensor) -> Tensor:
    """Where the output is lost, ``[n, chunk, value]``."""
    lost = written(member, b, state)
    if not member.delta:
        lost = _from_here(b.v | _row(b.k) | _row(b.g)) | state.any(1, keepdim=True)
    return lost | _row(b.q)


def after(member: Member, b: Bad, state: Tensor) -> Tensor:
    """Where the state after the chunk is lost, ``[n, key, value]``."""
    if member.delta:
        return written(member, b, state)[:, -1:].expand_as(state) | state
    return state | b.v.any(1)[:, None] | (b.k | b.g).any(1)[:, :, None]


def adjoint(member: Member, b: Bad, do: Tensor, dstate: Tensor) -> Tensor:
    """Where the gradient of what the tokens write is lost, ``[n, chunk, value]``; ``do`` and ``dstate`` are masks."""
    later = _after_here(_row(b.g) | b.beta if member.delta else _row(b.g))
    own = _row(b.k)
    lost = _up_to_here(do | _row(b.q) | (own if member.delta else False)) | later | dstate.any(1, keepdim=True)
    return lost if member.delta else lost | own


def before(member: Member, b: Bad, do: Tensor, dstate: Tensor) -> Tensor:
    """Where the gradient of the state before the chunk is lost, ``[n, key, value]``."""
    if member.delta:
        first = (adjoint(member, b, do, dstate) | b.beta)[:, :1]
        return dstate | first | b.g[:, 0, :, None]
    return dstate | do.any(1)[:, None] | (b.q | b.g).any(1)[:, :, None]


@dataclass(frozen=True)
class Lost:
    """Where the gradients of a chunk are lost."""

    q: Tensor
    k: Tensor
    g: Tensor
    """``[n, chunk, 1 or key]``: of the gates themselves, after the sum over later tokens."""
    beta: Tensor
    """``[n, chunk]``."""


def gradients(member: Member, b: Bad, do: Tensor, state: Tensor, dstate: Tensor, channels: bool) -> Lost:
    """Where dq, dk, dg and dbeta are lost; dv is where :func:`adjoint` says, and at rows with a bad beta."""
    u, lam = written(member, b, state), adjoint(member, b, do, dstate)
    if member.delta:
        held = state.any(2)[:, None]
        recalled = _before_here(_row(u)) | (held if channels else _row(held))
        dq = (_row(do) | _row(u)).expand_as(b.q)
        dk = (_row(u) | _row(lam)).expand_as(b.k)
        dg = recalled | _row(lam) | b.beta | b.g
        dbeta = _row(lam) | _row(b.v) | _row(b.k) | _row(b.g) | _row(recalled)
        return Lost(dq, dk, dg, dbeta[..., 0])
    held = state.any(2)[:, None]
    dheld = dstate.any(2)[:, None]
    now = _from_here(b.k | b.g) | _from_here(_row(b.v)) | held
    earlier = _before_here(b.k | b.g) | _before_here(_row(b.v)) | held
    later = _up_to_here(b.q | _row(do)) | _after_here(b.g) | dheld
    dq, dk = now | _row(do), later | _row(b.v)
    dg = earlier | later | b.g
    return Lost(dq, dk, dg if channels else _row(dg), torch.zeros_like(b.beta[..., 0]))


def _row(x: Tensor) -> Tensor:
    return x.any(-1, keepdim=True)


def _from_here(x: Tensor) -> Tensor:
    """Lost at a token: bad at it or before it."""
    return x.cumsum(1) > 0


def _before_here(x: Tensor) -> Tensor:
    return (x.cumsum(1) - x.long()) > 0


def _up_to_here(x: Tensor) -> Tensor:
    """Lost at a token: bad at it or after it."""
    return _from_here(x.flip(1)).flip(1)


def _after_here(x: Tensor) -> Tensor:
    return _before_here(x.flip(1)).flip(1)
