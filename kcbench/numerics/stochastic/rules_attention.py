"""Fused attention as its textbook formula: scores, softmax, product; and its backward pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule
from kcbench.numerics.stochastic.rules_composite import softmax, softmax_backward
from kcbench.numerics.stochastic.rules_contraction import matmul


def _product(noise: Noise, a: Tensor, b: Tensor) -> Tensor:
    """A batched product of tensors of any rank."""
    batch = a.shape[:-2]
    y = matmul(noise, a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]))
    return y.view(*batch, *y.shape[-2:])


def _probabilities(
    noise: Noise, q: Tensor, k: Tensor, causal: bool, mask: Tensor | None, scale: float | None
) -> tuple[Tensor, Tensor, float]:
    """Softmax of the scaled and masked scores, the scores, and the scale."""
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = noise.rounded(_product(noise, q, k.transpose(-1, -2)).mul_(factor))
    if causal:
        scores.masked_fill_(torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu_(1), -math.inf)
    if mask is not None:
        allowed = mask if mask.dtype is torch.bool else None
        scores = scores.masked_fill_(~allowed, -math.inf) if allowed is not None else noise.rounded(scores.add_(mask))
    p = softmax(noise, torch.ops.aten._softmax.default, scores, -1)
    # A row that is masked out entirely is zero, as in eager's _safe_softmax.
    p.masked_fill_((scores == -math.inf).all(-1, keepdim=True), 0.0)
    # A fused kernel feeds its second product probabilities of the storage dtype.
    noise.stored(p)
    return p, scores, factor


@rule("_scaled_dot_product_flash_attention_for_cpu", stores=(0,))
def _flash_for_cpu(
    noise: Noise,
    op: Callable[..., Any],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    p, scores, _factor = _probabilities(noise, q, k, is_causal, attn_mask, scale)
    # Eager's layout: heads inside positions.
    y = _product(noise, p, v).transpose(1, 2).contiguous().transpose(1, 2)
    return y, torch.logsumexp(scores, -1)


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def _flash_for_cpu_backward(
    noise: Noise,
    op: Callable[..., Any],
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    p, _scores, factor = _probabilities(noise, q, k, is_causal, attn_mask, scale)
    grad_v = _product(noise, p.transpose(-1, -2), grad)
    grad_p = _product(noise, grad, v.transpose(-1, -2))
    grad_s = noise.rounded(softmax_backward(noise, op, grad_p, p, -1).mul_(factor))
    noise.stored(grad_s)
    return _product(noise, grad_s, k), _product(noise, grad_s.transpose(-1, -2), q), grad_v
