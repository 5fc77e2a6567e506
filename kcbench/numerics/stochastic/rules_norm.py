"""Normalisations, forward: mean, variance, reciprocal root, scale and shift, at the accumulate level.

Only the normalised result is stored in the storage dtype; eager keeps the statistics in float32. Running statistics are not
updated here: the noise-free run has done it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule
from kcbench.numerics.stochastic.rules_elementwise import QUOTIENT
from kcbench.numerics.stochastic.rules_reduction import mean, variance


def _affine(noise: Noise, y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        y = noise.rounded(y.mul_(weight))
    if bias is not None:
        y = noise.rounded(y.add_(bias))
    return y


def _root(noise: Noise, v: Tensor, eps: float) -> Tensor:
    return noise.rounded(noise.rounded(v + eps).rsqrt_(), QUOTIENT)


def _normalised(noise: Noise, x: Tensor, m: Tensor, rstd: Tensor) -> Tensor:
    """``x rstd - m rstd``: what is left of (x - m) rstd once a kernel folds it into one multiplication and one addition."""
    return noise.rounded(noise.rounded(x * rstd).sub_(noise.rounded(m * rstd)))


def _standardised(noise: Noise, x: Tensor, dims: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) rstd, mean and rstd."""
    m = mean(noise, x, list(dims), keepdim=True)
    rstd = _root(noise, variance(noise, x, list(dims), 0, keepdim=True), eps)
    return _normalised(noise, x, m, rstd), m, rstd


@rule("native_layer_norm", stores=(0,))
def _layer_norm(
    noise: Noise,
    op: Callable[..., Any],
    x: Tensor,
    shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    y, m, rstd = _standardised(noise, x, range(x.dim() - len(shape), x.dim()), eps)
    return _affine(noise, y, weight, bias), m, rstd


@rule("_fused_rms_norm rms_norm", stores=(0,))
def _rms_norm(
    noise: Noise, op: Callable[..., Any], x: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Any:
    dims = list(range(x.dim() - len(shape), x.dim()))
    power = mean(noise, noise.rounded(x.square()), dims, keepdim=True)
    rstd = _root(noise, power, torch.finfo(x.dtype).eps if eps is None else eps)
    y = _affine(noise, noise.rounded(x * rstd), weight, None)
    return (y, rstd) if "fused" in str(op) else y


@rule("native_group_norm", stores=(0,))
def _group_norm(
    noise: Noise,
    op: Callable[..., Any],
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    n: int,
    channels: int,
    positions: int,
    groups: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    y, m, rstd = _standardised(noise, x.reshape(n, groups, -1), [2], eps)
    per_channel = [1, channels] + [1] * (x.dim() - 2)
    y = y.view(x.shape)
    y = _affine(noise, y, *(None if p is None else p.view(per_channel) for p in (weight, bias)))
    return y, m.view(n, groups), rstd.view(n, groups)


def _batch_norm(
    noise: Noise,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running: tuple[Tensor, Tensor] | None,
    training: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    per_channel = [1, -1] + [1] * (x.dim() - 2)
    if training or running is None:
        y, m, rstd = _standardised(noise, x, [d for d in range(x.dim()) if d != 1], eps)
        saved = (m.flatten(), rstd.flatten())
    else:
        m, v = (t.view(per_channel) for t in running)
        y = _normalised(noise, x, m, _root(noise, v, eps))
        saved = (x.new_zeros(0), x.new_zeros(0))
    return _affine(noise, y, *(None if p is None else p.view(per_channel) for p in (weight, bias))), *saved


@rule("native_batch_norm _native_batch_norm_legit cudnn_batch_norm _batch_norm_impl", stores=(0,))
def _native_batch_norm(
    noise: Noise, op: Callable[..., Any], x: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any, **_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    # The overload without statistics leaves the two tensors out.
    stats, training, eps = (None, rest[0], rest[2]) if isinstance(rest[0], bool) else (rest[:2], rest[2], rest[4])
    running = None if stats is None or stats[0] is None or stats[1] is None else (stats[0], stats[1])
    return _batch_norm(noise, x, weight, bias, running, bool(training), eps)


@rule("_native_batch_norm_legit_no_training", stores=(0,))
def _batch_norm_eval(
    noise: Noise,
    op: Callable[..., Any],
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    return _batch_norm(noise, x, weight, bias, (running_mean, running_var), False, eps)
