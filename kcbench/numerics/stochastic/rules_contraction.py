"""Contractions: mm and its relatives, sums and dot products of a known length.

For a length N, with S the result, Q the same operation on squared operands and P_g partial sums in natural order, the deviation
is ``u sqrt(N max(S^2/3 + Q/6, mean P_g^2) + Q)``: the partial sums of a random order have a mean square of S^2/3 + Q/6, those
of the natural order are looked up, and Q is the products' own rounding. Sums of equal terms are the exception, see
:func:`coherent`. ``sqrt(N)|A||B|`` is an upper bound that loses a factor of 14 at N = 4096. Tensor cores truncate: ``0.175 u
ceil(N/16) max(|S|, 2 mean|P_g|)``, half of it in a direction that a whole run shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule

PARTS = 16
_TF32 = 2.0**-11
_STACK_ELEMENTS = 1 << 24

Deviation = tuple[Tensor, Tensor | None]
"""Standard deviation, and the magnitude of the truncation bias where there is one."""


def chunks(length: int) -> tuple[int, int]:
    """Number and size of the chunks, at most :data:`PARTS`, whose sums are the partial sums; the last may be short."""
    size = -(-length // PARTS)
    return -(-length // size), size


def prefix_moments(parts: Tensor | Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean square and mean magnitude over the running sums of chunk sums (stacked along dim 0, or one after the other)."""
    if isinstance(parts, Tensor):
        prefixes = parts.cumsum(0)
        return prefixes.square().mean(0), prefixes.abs().mean(0)
    running = square = size = None
    count = 0
    for part in parts:
        running = part.clone() if running is None else running.add_(part)
        square = running.square() if square is None else square.addcmul_(running, running)
        size = running.abs() if size is None else size.add_(running.abs())
        count += 1
    assert square is not None and size is not None
    return square.div_(count), size.div_(count)


def coherent(noise: Noise, s: Tensor, q: Tensor, length: Tensor | float) -> Tensor:
    """Error of a sequential sum of equal terms: ``u N |S| / 4``, and zero for any other sum.

    Within a binade of the running sum each addition of the same term makes the same error, so errors add up like N, not like its
    root. Terms count as equal while they differ by less than the running sum's roundoff: ``N Q - S^2 <= (u N)^2 N Q``.
    """
    u = noise.precision.u
    power = q * length
    equal = (power - s.square() <= (u * length) ** 2 * power) & (power > 0)
    return torch.where(equal, s.abs() * (0.25 * u * length), 0.0)


def deviation(noise: Noise, s: Tensor, q: Tensor, moments: tuple[Tensor, Tensor], length: int, *, core: bool = True) -> Deviation:
    """The deviation of a sum of ``length`` terms; ``core`` says that tensor cores may run it."""
    u = noise.precision.u
    square, size = moments
    variance = torch.maximum(s.square() / 3 + q / 6, square).mul_(length).add_(q).mul_(u * u)
    variance.add_(coherent(noise, s, q, length).square_())
    bias = None
    if core and noise.precision.truncates:
        bias = torch.maximum(s.abs(), 2 * size).mul_(0.175 * u * math.ceil(length / 16))
        variance.addcmul_(bias, bias)
        bias = torch.nan_to_num(bias, 0.0, 0.0, 0.0)
    return noise.deviation(variance.sqrt_(), length), bias


def spread(noise: Noise, fresh: Tensor, how: Deviation) -> Tensor:
    """Add the noise of a contraction in place."""
    if not noise.scale:
        return fresh
    sd, bias = how
    if bias is not None:
        if noise.precision.tf32:
            # Inputs that are truncated, not rounded, shrink every product.
            shrink = torch.mul(noise.xi(fresh), -0.5 * _TF32 * noise.scale).add_(1.0 - _TF32 * noise.scale * noise.g)
            fresh.mul_(shrink)
        fresh.add_(bias, alpha=noise.g * noise.scale)
    return noise.spread(fresh, sd)


def contract(
    noise: Noise,
    f: Callable[[Tensor, Tensor], Tensor],
    a: Tensor,
    b: Tensor,
    length: int,
    parts: Callable[[], Tensor | Iterable[Tensor]],
) -> Tensor:
    """A noisy bilinear ``f(a, b)`` that sums ``length`` products.

    ``parts`` makes the chunk sums of ``f(a, b)`` in the natural order of the summed index.
    """
    if noise.precision.tf32 and noise.scale:
        units = 0.5 * _TF32 / noise.precision.u
        y = f(noise.jittered(a, units), noise.jittered(b, units))
    else:
        y = f(a, b)
    if not y.is_floating_point():
        return y
    how = noise.memo(y, lambda: deviation(noise, f(a, b), f(a.square(), b.square()), prefix_moments(parts()), length))
    return spread(noise, y, how)


def matmul(noise: Noise, a: Tensor, b: Tensor) -> Tensor:
    """Noisy product of two matrices, or of two batches of matrices."""
    length = a.shape[-1]

    def parts() -> Tensor | Iterable[Tensor]:
        groups, size = chunks(length)
        if groups * a.shape[-2] * b.shape[-1] * (a.shape[0] if a.dim() == 3 else 1) > _STACK_ELEMENTS:
            return (a[..., k : k + size] @ b[..., k : k + size, :] for k in range(0, length, size))
        pad = groups * size - length
        left = torch.nn.functional.pad(a, (0, pad)) if pad else a
        right = torch.nn.functional.pad(b, (0, 0, 0, pad)) if pad else b
        left = left.reshape(*a.shape[:-1], groups, size).movedim(-2, 0)
        right = right.reshape(*b.shape[:-2], groups, size, b.shape[-1]).movedim(-3, 0)
        return left @ right

    return contract(noise, torch.matmul, a, b, length, parts)


def add_scaled(noise: Noise, bias: Tensor, product: Tensor, beta: float, alpha: float, length: int = 1) -> Tensor:
    """``beta bias + alpha product``, by an epilogue or by an accumulator of ``length`` terms that starts at the bias."""
    if beta == 0:
        return noise.rounded(product * alpha) if alpha != 1 else product
    y = torch.add(product * alpha if alpha != 1 else product, bias, alpha=beta)
    return noise.rounded(from_bias(noise, y, bias if beta == 1 else bias * beta, length))


def from_bias(noise: Noise, fresh: Tensor, bias: Tensor, length: int) -> Tensor:
    """Add in place what an accumulator that starts at the bias loses: each of the additions rounds at the bias's size.

    Args:
        noise: The noise.
        fresh: The sum of bias and contraction.
        bias: The bias, in a shape that broadcasts to the sum's.
        length: Number of additions.
    """
    if length < 2 or not fresh.is_floating_point():
        return fresh
    weight = noise.precision.u * math.sqrt(length / 3)
    return noise.spread(fresh, noise.memo(fresh, lambda: noise.deviation((bias.abs() * weight).expand(fresh.shape))))


@rule("mm bmm")
def _mm(noise: Noise, op: Callable[..., Tensor], a: Tensor, b: Tensor) -> Tensor:
    return matmul(noise, a, b)


@rule("addmm baddbmm")
def _addmm(
    noise: Noise, op: Callable[..., Tensor], bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return add_scaled(noise, bias, matmul(noise, a, b), beta, alpha, a.shape[-1])


@rule("_addmm_activation")
def _addmm_activation(
    noise: Noise,
    op: Callable[..., Tensor],
    bias: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    use_gelu: bool = False,
) -> Tensor:
    y = add_scaled(noise, bias, matmul(noise, a, b), beta, alpha, a.shape[-1])
    result: Tensor = noise.recurse(torch.ops.aten.gelu, y, approximate="tanh") if use_gelu else torch.relu(y)
    return result


@rule("addbmm")
def _addbmm(
    noise: Noise, op: Callable[..., Tensor], bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    # The sum over the batch is a longer contraction: lay the batch along the summed index.
    left = a.movedim(0, 1).reshape(a.shape[1], -1)
    return add_scaled(noise, bias, matmul(noise, left, b.reshape(-1, b.shape[-1])), beta, alpha, left.shape[-1])


@rule("mv")
def _mv(noise: Noise, op: Callable[..., Tensor], a: Tensor, x: Tensor) -> Tensor:
    return matmul(noise, a, x.unsqueeze(1)).squeeze(1)


@rule("addmv")
def _addmv(
    noise: Noise, op: Callable[..., Tensor], bias: Tensor, a: Tensor, x: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return add_scaled(noise, bias, matmul(noise, a, x.unsqueeze(1)).squeeze(1), beta, alpha, a.shape[-1])


@rule("dot vdot")
def _dot(noise: Noise, op: Callable[..., Tensor], a: Tensor, b: Tensor) -> Tensor:
    return matmul(noise, a.unsqueeze(0), b.unsqueeze(1)).view(())


@rule("addr")
def _addr(
    noise: Noise, op: Callable[..., Tensor], bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return add_scaled(noise, bias, noise.rounded(torch.outer(a, b)), beta, alpha)


@rule("_cdist_forward cdist")
def _cdist(noise: Noise, op: Callable[..., Tensor], a: Tensor, b: Tensor, p: float, *args: Any) -> Tensor:
    """Distances by differences, or for p = 2 by |a|^2 - 2ab + |b|^2, whose cancellation eager itself accepts."""
    y = op(a, b, p, *args)
    length = a.shape[-1]

    def how() -> Tensor:
        u = noise.precision.u
        relative = y * (u * (math.sqrt(length / 3 + 2) + 1))
        if p != 2:
            return noise.deviation(relative)
        energy = a.square().sum(-1).unsqueeze(-1) + b.square().sum(-1).unsqueeze(-2)
        absolute = (u * math.sqrt(length / 3 + 2)) * energy
        # d(sqrt v) = dv / 2 sqrt(v), and at most sqrt(dv) where v vanishes.
        return noise.deviation(torch.maximum(relative, torch.minimum(absolute / (2 * y), absolute.sqrt())))

    return noise.spread(y, noise.memo(y, how))
