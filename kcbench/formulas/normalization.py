"""Normalisations: minus the mean, over the square root of the variance, times a weight, plus a bias."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def standardize(x: Tensor, dims: Sequence[int], eps: float) -> Tensor:
    """``(x - mean) / sqrt(mean (x - mean)^2 + eps)``, with means over some dimensions."""
    count = 1
    for dim in dims:
        count *= x.shape[dim]
    centred = x - x.sum(dim=list(dims), keepdim=True) / count
    variance = (centred * centred).sum(dim=list(dims), keepdim=True) / count
    return centred / (variance + eps).sqrt()


def batch_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    mean: Tensor | None = None,
    variance: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of ``x [batch, channels, *space]`` by the batch's own statistics, or by given ones (inference).

    Args:
        x: ``[batch, channels, *space]``.
        weight: ``[channels]``; likewise the other tensors.
        bias: Added last.
        mean: Running mean; None for the batch's own statistics.
        variance: Running variance.
        eps: Added to the variance.
    """
    if mean is None or variance is None:
        y = standardize(x, [0, *range(2, x.dim())], eps)
    else:
        y = (x - _channels(mean, x)) / (_channels(variance, x) + eps).sqrt()
    return _affine(y, weight, bias)


def instance_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    """Each channel of each sample of ``x [batch, channels, *space]`` by its own statistics."""
    return _affine(standardize(x, range(2, x.dim()), eps), weight, bias)


def group_norm(x: Tensor, groups: int, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    """Each group of channels of each sample of ``x [batch, channels, *space]`` by its own statistics."""
    parts = x.reshape(x.shape[0], groups, -1)
    return _affine(standardize(parts, [2], eps).reshape(x.shape), weight, bias)


def layer_norm(
    x: Tensor, dims: int = 1, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5
) -> Tensor:
    """Over the last ``dims`` dimensions; weight and bias have their shape."""
    y = standardize(x, range(x.dim() - dims, x.dim()), eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _channels(value: Tensor, like: Tensor) -> Tensor:
    return value.reshape(-1, *(1,) * (like.dim() - 2))


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = y if weight is None else y * _channels(weight, y)
    return y if bias is None else y + _channels(bias, y)
