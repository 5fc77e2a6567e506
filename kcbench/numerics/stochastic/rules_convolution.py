"""Convolution, forward and backward: contractions over channels and kernel positions, or over the batch and positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule
from kcbench.numerics.stochastic.rules_contraction import PARTS, chunks, contract, from_bias
from kcbench.numerics.stochastic.rules_reduction import total

_convolution = torch.ops.aten.convolution.default
_backward = torch.ops.aten.convolution_backward.default


def _masked(x: Tensor, dim: int, groups: int) -> Iterator[Tensor]:
    """Copies of a tensor with all but one chunk set to zero.

    The chunks divide the flat index over ``dim`` (within its group) and all dimensions from 2 on: the summed index of a weight,
    or of an output gradient. The other of the first two dimensions is not summed over.
    """
    span = x.shape[dim] // groups
    positions = math.prod(x.shape[2:])
    index = torch.arange(span * positions, device=x.device).view(span, *x.shape[2:])
    index = index.repeat(groups, *[1] * (x.dim() - 2)).unsqueeze(1 - dim)
    count, size = chunks(span * positions)
    for chunk in range(count):
        yield torch.where(index.div(size, rounding_mode="floor") == chunk, x, 0.0)


def _channel_slices(channels: int) -> Iterator[slice]:
    _, size = chunks(channels)
    for start in range(0, channels, size):
        yield slice(start, start + size)


def _forward_parts(
    f: Callable[[Tensor, Tensor], Tensor], x: Tensor, w: Tensor, transposed: bool, groups: int
) -> Iterator[Tensor]:
    if groups == 1 and x.shape[1] >= PARTS and x.dim() == w.dim():
        # The channel is the slowest part of the summed index, so slices of it are chunks, and cost one convolution together.
        for part in _channel_slices(x.shape[1]):
            yield f(x[:, part], w[part] if transposed else w[:, part])
        return
    for masked in _masked(w, 0 if transposed else 1, groups if transposed else 1):
        yield f(x, masked)


@rule("convolution _convolution convolution_overrideable")
def _convolve(
    noise: Noise,
    op: Callable[..., Tensor],
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *_: Any,
) -> Tensor:
    def f(a: Tensor, b: Tensor) -> Tensor:
        y: Tensor = _convolution(a, b, None, stride, padding, dilation, transposed, output_padding, groups)
        return y

    kernel = math.prod(w.shape[2:])
    length = -(-w.shape[0] // groups * kernel // _overlap(w, stride)) if transposed else w.shape[1] * kernel
    y = contract(noise, f, x, w, length, lambda: _forward_parts(f, x, w, transposed, groups))
    if bias is None:
        return y
    # Eager at 16 bit adds the bias to a convolution that was already stored.
    noise.stored(y)
    spread = bias.view(-1, *[1] * (w.dim() - 2))
    return noise.rounded(from_bias(noise, y.add_(spread), spread, length))


def _overlap(w: Tensor, stride: Sequence[int]) -> int:
    """How many kernel positions fall between two outputs of a transposed convolution: of the kernel, the others meet zeros."""
    steps = stride if len(stride) == w.dim() - 2 else [stride[0]] * (w.dim() - 2)
    return math.prod(min(s, k) for s, k in zip(steps, w.shape[2:], strict=True))


@rule("convolution_backward convolution_backward_overrideable")
def _convolve_backward(
    noise: Noise,
    op: Callable[..., Any],
    grad: Tensor,
    x: Tensor,
    w: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    grad_x = grad_w = grad_b = None
    kernel = math.prod(w.shape[2:])

    if output_mask[0]:

        def to_x(g: Tensor, b: Tensor) -> Tensor:
            y: Tensor = _backward(g, x, b, None, *geometry, [True, False, False])[0]
            return y

        length = w.shape[1] * kernel if transposed else -(-(w.shape[0] // groups) * kernel // _overlap(w, stride))
        dim, split = (1, 1) if transposed else (0, groups)
        grad_x = contract(noise, to_x, grad, w, length, lambda: (to_x(grad, part) for part in _masked(w, dim, split)))

    if output_mask[1]:

        def to_w(g: Tensor, a: Tensor) -> Tensor:
            y: Tensor = _backward(g, a, w, None, *geometry, [False, True, False])[1]
            return y

        # Summed over the batch and the positions of the smaller side: the output, or the input of a transposed convolution.
        def parts() -> Iterator[Tensor]:
            if transposed:
                return (to_w(grad, part) for part in _masked(x, 0, 1))
            return (to_w(part, x) for part in _masked(grad, 0, 1))

        side = x if transposed else grad
        grad_w = contract(noise, to_w, grad, x, side.shape[0] * math.prod(side.shape[2:]), parts)

    if output_mask[2]:
        grad_b = total(noise, grad, [d for d in range(grad.dim()) if d != 1])
    return grad_x, grad_w, grad_b
