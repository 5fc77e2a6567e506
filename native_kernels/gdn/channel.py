"""Products inside a chunk whose terms decay channel by channel: ``exp(c_i - c_j)`` for a running sum ``c`` with a vector a token.

The factor does not split into one of ``i`` and one of ``j`` without one of them growing beyond any format. So rows are taken
16 at a time: for the rows of a block and the tokens before it, ``exp(c_i - c_j) = exp(c_i - r) exp(r - c_j)`` with ``r`` the
running sum at the token before the block, and both exponents are at most 0 where gates are. The 16 x 16 blocks on the
diagonal are summed term by term. Nothing is neglected: a factor that vanishes does so because the product does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from native_kernels.gdn.rounding import Rounding

BLOCK = 16


def product(x: Tensor, y: Tensor, c: Tensor, strict: bool, r: Rounding) -> Tensor:
    """``out[i, j] = sum_d x[i, d] y[j, d] exp(c[i, d] - c[j, d])`` for ``j <= i`` (``j < i`` if strict), else 0.

    Args:
        x: Of the later tokens, ``[n, chunk, key]``.
        y: Of the earlier tokens, the same shape.
        c: Running sums of the gates, the same shape.
        strict: Leave the diagonal out.
        r: Formats of the operands.

    Returns:
        ``[n, chunk, chunk]``.
    """
    out = x.new_zeros(x.shape[0], x.shape[1], x.shape[1])
    for first in range(0, x.shape[1], BLOCK):
        here = slice(first, first + BLOCK)
        if first:
            left, right = _factors(c, first)
            out[:, here, :first] = r("gated", x[:, here] * left) @ r("gated", y[:, :first] * right).mT
        out[:, here, here] = (x[:, here, None] * y[:, None, here] * _decay(c[:, here], strict)).sum(-1)
    return out


def rows(t: Tensor, y: Tensor, c: Tensor, strict: bool, r: Rounding, site: str) -> Tensor:
    """``out[i, d] = sum_j t[i, j] exp(c[i, d] - c[j, d]) y[j, d]`` over ``j <= i`` (``j < i`` if strict)."""
    out = torch.empty_like(y)
    for first in range(0, y.shape[1], BLOCK):
        here = slice(first, first + BLOCK)
        block = t[:, here, here, None] * _decay(c[:, here], strict)
        out[:, here] = (block * y[:, None, here]).sum(2)
        if first:
            left, right = _factors(c, first)
            out[:, here] += left * (r(site, t[:, here, :first]) @ r("gated", y[:, :first] * right))
    return out


def columns(t: Tensor, x: Tensor, c: Tensor, strict: bool, r: Rounding, site: str) -> Tensor:
    """``out[j, d] = sum_i t[i, j] exp(c[i, d] - c[j, d]) x[i, d]`` over ``i >= j`` (``i > j`` if strict)."""
    out = torch.zeros_like(x)
    for first in range(0, x.shape[1], BLOCK):
        here = slice(first, first + BLOCK)
        block = t[:, here, here, None] * _decay(c[:, here], strict)
        out[:, here] += (block * x[:, here, None]).sum(1)
        if first:
            left, right = _factors(c, first)
            out[:, :first] += right * (r(site, t[:, here, :first]).mT @ r("gated", x[:, here] * left))
    return out


def _factors(c: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """For the block that begins at a row: ``exp(c_i - r)`` of its rows and ``exp(r - c_j)`` of the tokens before it."""
    reference = c[:, first - 1 : first]
    return (c[:, first : first + BLOCK] - reference).exp(), (reference - c[:, :first]).exp()


def _decay(c: Tensor, strict: bool) -> Tensor:
    """``exp(c_i - c_j)`` of a block, ``[n, i, j, key]``; masked before the exponential, which would overflow."""
    size = c.shape[1]
    kept = torch.ones(size, size, dtype=torch.bool, device=c.device).tril(-1 if strict else 0)[:, :, None]
    return (c[:, :, None] - c[:, None]).masked_fill(~kept, -torch.inf).exp()
