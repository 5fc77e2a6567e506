"""Reductions: sums, means, variances, norms, products, scans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule
from kcbench.numerics.stochastic.rules_contraction import chunks, coherent, deviation, prefix_moments, spread
from kcbench.numerics.stochastic.rules_elementwise import BASIC, QUOTIENT, transcendental

Dims = Sequence[int] | int | None
ABSORBED_SHARE = 0.25
"""Share of the absorbed mass that is granted as a standard deviation: twice the mass at kappa = 8."""


def dims_of(x: Tensor, dims: Dims) -> list[int]:
    """The reduced dimensions as a list of non-negative numbers; None and an empty list mean all."""
    if isinstance(dims, int):
        dims = [dims]
    return [d % x.dim() for d in dims] if dims and x.dim() else list(range(x.dim()))


def length_of(x: Tensor, dims: Sequence[int]) -> int:
    """How many elements each result is made of."""
    return math.prod(x.shape[d] for d in dims)


def _rows(x: Tensor, dims: Sequence[int]) -> Tensor:
    """The reduced dimensions flattened into one last dimension."""
    kept = [d for d in range(x.dim()) if d not in dims]
    return x.permute(*kept, *dims).reshape(*[x.shape[d] for d in kept], -1)


def _sum_deviation(noise: Noise, x: Tensor, s: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    length = length_of(x, dims)
    rows = _rows(x, dims)
    groups, size = chunks(length)
    padded = torch.nn.functional.pad(rows, (0, groups * size - length)) if groups * size > length else rows
    parts = padded.view(*rows.shape[:-1], groups, size).sum(-1).movedim(-1, 0)
    square, magnitude = (m.view(s.shape) for m in prefix_moments(parts))
    q = x.square().sum(list(dims), keepdim=keepdim)
    sd = deviation(noise, s, q, (square, magnitude), length, core=False)[0]
    lost = _absorbed(noise, rows, s)
    return torch.hypot(sd, torch.nan_to_num(lost, 0.0, 0.0, 0.0).mul_(ABSORBED_SHARE))


def _absorbed(noise: Noise, rows: Tensor, s: Tensor) -> Tensor:
    """The sum of all terms that vanish one by one beside the largest: an order that meets it first loses every one of them.

    Their roundings have one sign and do not average out as those of ordinary sums do.
    """
    sizes = rows.abs()
    peak = torch.maximum(sizes.amax(-1), s.abs().view(sizes.shape[:-1])) if rows.shape[-1] else s.abs().view(rows.shape[:-1])
    small = torch.where(sizes <= noise.precision.u * peak.unsqueeze(-1), sizes, 0.0)
    return small.sum(-1).view(s.shape)


def total(noise: Noise, x: Tensor, dims: Dims = None, keepdim: bool = False) -> Tensor:
    """A noisy sum."""
    where = dims_of(x, dims)
    s = x.sum(where, keepdim=keepdim) if where else x.clone()
    if length_of(x, where) == 1:
        return s
    sd = noise.memo(s, lambda: _sum_deviation(noise, x, s, where, keepdim))
    return spread(noise, s, (sd, None))


def mean(noise: Noise, x: Tensor, dims: Dims = None, keepdim: bool = False) -> Tensor:
    """A noisy mean: the sum, and a division."""
    length = length_of(x, dims_of(x, dims))
    s = total(noise, x, dims, keepdim)
    return noise.rounded(s.div_(length)) if length != 1 else s


def variance(noise: Noise, x: Tensor, dims: Dims, correction: float, keepdim: bool, root: bool = False) -> Tensor:
    """A noisy variance, or its root: relative deviation ``u sqrt(N/3 + 2) sqrt(1 + mean^2/var)``, half of it for the root."""
    where = dims_of(x, dims)
    v = x.var(where, correction=correction, keepdim=keepdim)

    def how() -> Tensor:
        factor = noise.precision.u * math.sqrt(length_of(x, where) / 3 + 2)
        sum_of_squares = v + x.mean(where, keepdim=keepdim).square()
        sd = 0.5 * factor * sum_of_squares.sqrt() if root else factor * (v * sum_of_squares).sqrt()
        return noise.deviation(sd)

    sd = noise.memo(v, how)
    result = noise.spread(v.sqrt() if root else v, sd)
    return noise.rounded(result, QUOTIENT if root else BASIC)


@rule("sum nansum")
def _sum(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: Dims = None, keepdim: bool = False, **_: Any) -> Tensor:
    return total(noise, torch.nan_to_num(x, nan=0.0) if "nansum" in str(op) else x, dim, keepdim)


@rule("mean")
def _mean(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: Dims = None, keepdim: bool = False, **_: Any) -> Tensor:
    return mean(noise, x, dim, keepdim)


@rule("trace")
def _trace(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    return total(noise, x.diagonal())


def _correction(dim: Any, unbiased: bool, correction: float | None) -> tuple[Dims, float]:
    """The three ways in which aten's overloads say dims and correction."""
    if isinstance(dim, bool):
        return None, float(dim)
    return dim, float(unbiased) if correction is None else float(correction)


@rule("var std")
def _var(
    noise: Noise,
    op: Callable[..., Tensor],
    x: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    dims, correction = _correction(dim, unbiased, correction)
    return variance(noise, x, dims, correction, keepdim, root="std" in str(op))


@rule("var_mean std_mean")
def _var_mean(
    noise: Noise,
    op: Callable[..., Any],
    x: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    dims, correction = _correction(dim, unbiased, correction)
    return variance(noise, x, dims, correction, keepdim, root="std" in str(op)), mean(noise, x, dims, keepdim)


def _norm_units(p: float, length: int) -> float:
    """Roundoffs of a p-norm: the root halves the error of the sum for p = 2, the powers cost two more for any other p."""
    if math.isinf(p):
        return 0.0
    relative = math.sqrt(length / 3 + 2)
    if p in (0, 1):
        return relative
    return 0.5 * relative + 1 if p == 2 else relative / p + 3


@rule("linalg_vector_norm")
def _vector_norm(
    noise: Noise, op: Callable[..., Tensor], x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, **_: Any
) -> Tensor:
    y = op(x, ord, dim, keepdim)
    units = _norm_units(float(ord), length_of(x, dims_of(x, dim)))
    return noise.rounded(y, units) if units else y


@rule("norm")
def _norm(
    noise: Noise, op: Callable[..., Tensor], x: Tensor, p: float | None = 2, dim: Dims = None, keepdim: bool = False, **_: Any
) -> Tensor:
    power = 2.0 if p is None else float(p)
    return _vector_norm(noise, torch.ops.aten.linalg_vector_norm.default, x, power, dim, keepdim)


@rule("prod")
def _prod(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int | None = None, keepdim: bool = False, **_: Any) -> Tensor:
    y = x.prod() if dim is None else x.prod(dim, keepdim=keepdim)
    return noise.rounded(y, math.sqrt(length_of(x, dims_of(x, dim))))


def _steps(x: Tensor, dim: int) -> Tensor:
    """1, 2, 3, ... along a dimension."""
    shape = [1] * x.dim()
    shape[dim] = -1
    return torch.arange(1, x.shape[dim] + 1, dtype=x.dtype, device=x.device).view(shape)


@rule("cumprod")
def _cumprod(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int, **_: Any) -> Tensor:
    y = x.cumprod(dim)
    if not x.dim():
        return y
    sd = noise.memo(y, lambda: noise.deviation(y.abs() * (noise.precision.u * _steps(x, dim).sqrt())))
    return noise.rounded(noise.spread(y, sd))


@rule("cumsum")
def _cumsum(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int, **_: Any) -> Tensor:
    y = x.cumsum(dim)
    if not x.dim() or x.shape[dim] == 1:
        return y

    def how() -> Tensor:
        q = x.square().cumsum(dim)
        steps = _steps(x, dim)
        anyhow = steps * (y.square() / 3 + q / 6) + q
        sd = torch.maximum(anyhow, y.square().cumsum(dim)).sqrt() * noise.precision.u
        return noise.deviation(sd + coherent(noise, y, q, steps))

    return spread(noise, y, (noise.memo(y, how), None))


@rule("logcumsumexp")
def _logcumsumexp(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int) -> Tensor:
    return transcendental(noise, op, x, dim)


@rule("logsumexp")
def _logsumexp(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """Kept whole in float32. At 16 bit eager stores each of its steps (differences, exponentials, sum, logarithm)."""
    dims = dims_of(x, dim)
    if not noise.precision.store or not dims:
        return transcendental(noise, op, x, dims, keepdim)
    top = x.amax(dims, keepdim=True)
    # A row of infinities keeps its own value, as in eager.
    top.masked_fill_(top.abs() == math.inf, 0.0)
    y = noise.rounded(x - top)
    noise.stored(y)
    y = transcendental(noise, torch.exp, y)
    noise.stored(y)
    y = total(noise, y, dims, keepdim)
    noise.stored(y)
    y = transcendental(noise, torch.log, y)
    noise.stored(y)
    return noise.rounded(y.add_(top.view(y.shape)))
