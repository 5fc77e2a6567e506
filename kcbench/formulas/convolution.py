"""Convolutions as sums over the taps of the kernel, in any number of spatial dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import EllipsisType

import torch
import torch.nn.functional as F
from torch import Tensor

Sizes = int | Sequence[int]
"""One number for all spatial dimensions, or one for each."""


Index = tuple[slice | EllipsisType, ...]
"""Into the spatial dimensions, which are the last ones."""


def each(value: Sizes, dims: int) -> tuple[int, ...]:
    """A setting per spatial dimension."""
    return (value,) * dims if isinstance(value, int) else tuple(value)


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """``y[n, o, p] = bias[o] + sum_{c, k} weight[o, c, k] x[n, c, stride p + dilation k - padding]``, zero beyond the border.

    Args:
        x: ``[batch, channels, *space]``.
        weight: ``[out, channels / groups, *kernel]``.
        bias: ``[out]``.
        stride: Between outputs.
        padding: Zeros on both sides.
        dilation: Between taps.
        groups: Parts that channels and outputs are divided into; part of one meets the same part of the other.

    Returns:
        ``[batch, out, *space]``.
    """
    kernel = weight.shape[2:]
    dims = len(kernel)
    strides, paddings, dilations = each(stride, dims), each(padding, dims), each(dilation, dims)
    padded = F.pad(x, [side for pad in reversed(paddings) for side in (pad, pad)])
    sizes = [
        (length - d * (k - 1) - 1) // s + 1 for length, k, s, d in zip(padded.shape[2:], kernel, strides, dilations, strict=True)
    ]
    parts = padded.reshape(x.shape[0], groups, x.shape[1] // groups, *padded.shape[2:])
    taps = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    y = x.new_zeros(x.shape[0], groups, taps.shape[1], *sizes)
    for number, tap in enumerate(itertools.product(*map(range, kernel))):
        places: Index = (
            ...,
            *(slice(d * k, d * k + s * (size - 1) + 1, s) for k, s, d, size in zip(tap, strides, dilations, sizes, strict=True)),
        )
        weights = taps.flatten(3)[..., number]
        y = y + torch.einsum("ngc...,goc->ngo...", parts[places], weights)
    return _biased(y.reshape(x.shape[0], weight.shape[0], *sizes), bias)


def convolve_transposed(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Every input adds its multiple of the kernel: ``y[n, o, stride p + dilation k - padding] += weight[c, o, k] x[n, c, p]``.

    Args:
        x: ``[batch, channels, *space]``.
        weight: ``[channels, out / groups, *kernel]``.
        bias: ``[out]``.
        stride: Between inputs, seen from the output.
        padding: Outputs left out on both sides.
        output_padding: Further outputs on the far side.
        dilation: Between taps.
        groups: As in :func:`convolve`.

    Returns:
        ``[batch, out, *space]`` with ``(p - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1`` places.
    """
    kernel = weight.shape[2:]
    dims = len(kernel)
    strides, paddings, dilations = each(stride, dims), each(padding, dims), each(dilation, dims)
    extras = each(output_padding, dims)
    space = x.shape[2:]
    sizes = [(p - 1) * s + d * (k - 1) + 1 for p, k, s, d in zip(space, kernel, strides, dilations, strict=True)]
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *space)
    taps = weight.reshape(groups, x.shape[1] // groups, *weight.shape[1:])
    y = x.new_zeros(x.shape[0], groups, weight.shape[1], *(size + extra for size, extra in zip(sizes, extras, strict=True)))
    for number, tap in enumerate(itertools.product(*map(range, kernel))):
        places: Index = (
            ...,
            *(slice(d * k, d * k + s * (p - 1) + 1, s) for k, s, d, p in zip(tap, strides, dilations, space, strict=True)),
        )
        weights = taps.flatten(3)[..., number]
        y[places] += torch.einsum("ngc...,gco->ngo...", parts, weights)
    y = y.reshape(x.shape[0], groups * weight.shape[1], *y.shape[3:])
    kept: Index = (..., *(slice(pad, size - pad + extra) for pad, size, extra in zip(paddings, sizes, extras, strict=True)))
    return _biased(y[kept], bias)


def _biased(y: Tensor, bias: Tensor | None) -> Tensor:
    return y if bias is None else y + bias.reshape(-1, *(1,) * (y.dim() - 2))
