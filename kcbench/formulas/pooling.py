"""Sliding windows, of which a pooling takes the largest, the mean, or something else."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor

from kcbench.formulas.convolution import Index, Sizes, each


def windows(
    x: Tensor, size: Sizes, *, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1, border: float = 0.0
) -> Tensor:
    """All windows of ``x [batch, channels, *space]``, one last dimension for the places in a window.

    ``windows(x, 3).amax(-1)`` with ``border=-inf`` is a max pooling, ``windows(x, 3).mean(-1)`` an average pooling that counts
    its padding.

    Args:
        x: ``[batch, channels, *space]``.
        size: Of a window.
        stride: Between windows; their size by default.
        padding: Places beyond the border on both sides.
        dilation: Between places of a window.
        border: What stands there.

    Returns:
        ``[batch, channels, *space, places]``.
    """
    dims = x.dim() - 2
    sizes, paddings, dilations = each(size, dims), each(padding, dims), each(dilation, dims)
    strides = sizes if stride is None else each(stride, dims)
    padded = F.pad(x, [side for pad in reversed(paddings) for side in (pad, pad)], value=border)
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], sizes, strides, dilations, strict=True)]
    taken = []
    for tap in itertools.product(*map(range, sizes)):
        places: Index = (
            ...,
            *(
                slice(d * k, d * k + s * (count - 1) + 1, s)
                for k, s, d, count in zip(tap, strides, dilations, counts, strict=True)
            ),
        )
        taken.append(padded[places])
    return torch.stack(taken, dim=-1)


def adaptive_mean(x: Tensor, size: Sizes) -> Tensor:
    """Means over as many bins as asked for: bin ``i`` of ``n`` holds places ``floor(i L / n)`` up to ``ceil((i + 1) L / n)``.

    Args:
        x: ``[batch, channels, *space]``.
        size: Bins in each spatial dimension.
    """
    for dim, count in enumerate(each(size, x.dim() - 2), start=2):
        length = x.shape[dim]
        bins = [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
        x = torch.stack([x.narrow(dim, start, end - start).sum(dim=dim) / (end - start) for start, end in bins], dim=dim)
    return x
