"""Sums of a few weighted elements that are linear in one operand: scatters, average pooling, interpolation, and their adjoints.

With n contributions to an output the deviation is ``u (sqrt(n) + 1) op(|x|)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule
from kcbench.numerics.stochastic.rules_elementwise import BASIC

_put = torch.ops.aten.index_put.default


def weighted(noise: Noise, y: Tensor, magnitude: Callable[[], Tensor], count: Callable[[], Tensor] | float) -> Tensor:
    """Add the noise of a weighted sum to its fresh result in place.

    ``magnitude`` makes op(|x|); ``count`` is the number of contributions to each result, or makes a tensor of them.
    """

    def how() -> Tensor:
        n = count() if callable(count) else torch.tensor(float(count), dtype=y.dtype, device=y.device)
        # One contribution is a copy, none a zero: neither rounds.
        units = torch.where(n > 1, n.sqrt() + 1, 0.0)
        return noise.deviation(magnitude() * units * noise.precision.u)

    return noise.spread(y, noise.memo(y, how))


@rule("scatter_add index_add")
def _scatter_add(
    noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int, index: Tensor, src: Tensor, **kwargs: Any
) -> Tensor:
    y = op(x, dim, index, src, **kwargs)
    alpha = {key: abs(value) for key, value in kwargs.items()}

    def count() -> Tensor:
        return op((x != 0).to(x.dtype), dim, index, torch.ones_like(src))

    return weighted(noise, y, lambda: op(x.abs(), dim, index, src.abs(), **alpha), count)


@rule("index_put _index_put_impl _unsafe_index_put")
def _index_put(
    noise: Noise, op: Callable[..., Tensor], x: Tensor, indices: Any, values: Tensor, accumulate: bool = False, *_: Any
) -> Tensor:
    y: Tensor = _put(x, indices, values, accumulate)
    if not accumulate:
        return y

    def count() -> Tensor:
        return _put((x != 0).to(x.dtype), indices, torch.ones_like(values), accumulate)  # type: ignore[no-any-return]

    return weighted(noise, y, lambda: _put(x.abs(), indices, values.abs(), accumulate), count)


@rule("scatter_reduce index_reduce")
def _scatter_reduce(
    noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, **kwargs: Any
) -> Tensor:
    y = op(x, dim, index, src, reduce, **kwargs)
    if reduce in ("amax", "amin"):
        return y
    if reduce == "prod":
        return noise.rounded(y, math.sqrt(src.shape[dim]) if src.dim() else 1.0)
    terms = 1 + (src.shape[dim] if src.dim() else 1)
    return weighted(noise, y, lambda: op(x.abs(), dim, index, src.abs(), reduce, **kwargs), terms)


@rule("embedding_dense_backward")
def _embedding_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, *args: Any) -> Tensor:
    return weighted(noise, op(grad, *args), lambda: op(grad.abs(), *args), lambda: op(torch.ones_like(grad), *args))


@rule("max_pool2d_with_indices_backward max_pool3d_with_indices_backward adaptive_max_pool2d_backward")
@rule("adaptive_max_pool3d_backward reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward")
@rule("replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward col2im unfold_backward")
@rule("upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward value_selecting_reduction_backward")
@rule("_upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward")
def _adjoint_of_copy(noise: Noise, op: Callable[..., Tensor], grad: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The adjoint of an operation that copies elements: each result sums the gradients of its copies."""
    y = op(grad, *args, **kwargs)
    return weighted(noise, y, lambda: op(grad.abs(), *args, **kwargs), lambda: op(torch.ones_like(grad), *args, **kwargs))


def _window(kernel: Sequence[int] | int, dims: int) -> int:
    sizes = [kernel] if isinstance(kernel, int) else list(kernel)
    return math.prod(sizes * dims if len(sizes) == 1 else sizes)


_POOL_DIMS = {"avg_pool1d": 1, "avg_pool2d": 2, "avg_pool3d": 3}


@rule(" ".join(_POOL_DIMS))
def _avg_pool(noise: Noise, op: Callable[..., Tensor], x: Tensor, kernel: Sequence[int], *args: Any, **kwargs: Any) -> Tensor:
    dims = next(n for name, n in _POOL_DIMS.items() if name in str(op))
    y = op(x, kernel, *args, **kwargs)
    return noise.rounded(weighted(noise, y, lambda: op(x.abs(), kernel, *args, **kwargs), _window(kernel, dims)))


@rule("avg_pool2d_backward avg_pool3d_backward")
def _avg_pool_backward(
    noise: Noise,
    op: Callable[..., Tensor],
    grad: Tensor,
    x: Tensor,
    kernel: Sequence[int],
    stride: Any,
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    steps = stride or kernel
    windows = math.prod(-(-k // s) for k, s in zip(kernel, list(steps) * (len(kernel) // len(steps)), strict=True))
    y = op(grad, x, kernel, stride, *args, **kwargs)
    return noise.rounded(weighted(noise, y, lambda: op(grad.abs(), x, kernel, stride, *args, **kwargs), windows))


@rule("_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d")
def _adaptive_avg_pool(noise: Noise, op: Callable[..., Tensor], x: Tensor, size: Sequence[int]) -> Tensor:
    window = math.prod(-(-i // o) for i, o in zip(x.shape[-len(size) :], size, strict=True))
    return noise.rounded(weighted(noise, op(x, size), lambda: op(x.abs(), size), window))


@rule("_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward")
def _adaptive_avg_pool_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, x: Tensor) -> Tensor:
    # Windows overlap by at most one row in each dimension.
    n = 1 if all(i % o == 0 for i, o in zip(x.shape[2:], grad.shape[2:], strict=True)) else 2 ** (grad.dim() - 2)
    return noise.rounded(weighted(noise, op(grad, x), lambda: op(grad.abs(), x), n))


_TAPS = {"linear1d": 2, "bilinear2d": 4, "trilinear3d": 8, "bicubic2d": 16}


@rule("upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d")
@rule("_upsample_bilinear2d_aa _upsample_bicubic2d_aa")
def _interpolate(noise: Noise, op: Callable[..., Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    y = op(x, *args, **kwargs)
    taps = next(n for name, n in _TAPS.items() if name in str(op))
    units = 1 + _coordinate_units(x, y) / (math.sqrt(taps) + 1)
    return noise.rounded(weighted(noise, y, lambda: op(x.abs(), *args, **kwargs).abs() * units, taps))


@rule("upsample_linear1d_backward upsample_bilinear2d_backward upsample_trilinear3d_backward upsample_bicubic2d_backward")
@rule("_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward")
def _interpolate_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    y = op(grad, *args, **kwargs)
    taps = next(n for name, n in _TAPS.items() if name in str(op))
    n = taps * max(1.0, grad.numel() / max(1, y.numel()))
    units = 1 + _coordinate_units(y, grad) / (math.sqrt(n) + 1)
    return noise.rounded(weighted(noise, y, lambda: op(grad.abs(), *args, **kwargs).abs() * units, n))


def _coordinate_units(small: Tensor, large: Tensor) -> float:
    """Roundoffs of an interpolation weight: a source coordinate up to L is off by L/2 roundoffs unless the scale is dyadic."""
    worst = 0.0
    for i, o in zip(small.shape[2:], large.shape[2:], strict=True):
        exact = (i / o * 256.0).is_integer() and (i - 1) * 256 % max(1, o - 1) == 0
        worst = max(worst, 0.0 if exact else 0.5 * i)
    return worst


@rule("grid_sampler_2d grid_sampler_3d")
def _grid_sample(noise: Noise, op: Callable[..., Tensor], x: Tensor, grid: Tensor, mode: int, *args: Any) -> Tensor:
    # The grid is scaled to pixels, each step rounded.
    y = op(x, noise.jittered(grid, 2 * BASIC), mode, *args)
    return weighted(noise, y, lambda: op(x.abs(), grid, mode, *args).abs(), 4 if mode == 0 else 16 if mode == 2 else 1)


@rule("grid_sampler_2d_backward grid_sampler_3d_backward")
def _grid_sample_backward(
    noise: Noise, op: Callable[..., Any], grad: Tensor, x: Tensor, grid: Tensor, *args: Any
) -> tuple[Tensor | None, ...]:
    # Weights are differences of coordinates, so the error is that of the coordinates; both results add a few such products.
    shaken = op(noise.jittered(grad, 2.0), noise.jittered(x, 2.0), noise.jittered(grid, 2 * BASIC), *args)
    size = max(x.shape[2:])
    return tuple(None if y is None else noise.rounded(y, math.sqrt(size) + 4 * BASIC) for y in shaken)


@rule("_fft_r2c _fft_c2c _fft_c2r")
def _transform(noise: Noise, op: Callable[..., Tensor], x: Tensor, dims: Sequence[int], *args: Any) -> Tensor:
    """A fast transform of n points is off by ``u sqrt(log2 n)`` of its root mean square, alike in every element."""
    y = op(x, dims, *args)
    parts = torch.view_as_real(y) if y.is_complex() else y.unsqueeze(-1)

    def how() -> Tensor:
        size = y.abs().square().mean(list(dims), keepdim=True).sqrt().unsqueeze(-1)
        points = math.prod(max(x.shape[d], y.shape[d]) for d in dims)
        return noise.deviation(size * (noise.precision.u * (math.sqrt(math.log2(max(points, 2))) + 2)))

    noise.spread(parts, noise.memo(parts, how))
    return y
