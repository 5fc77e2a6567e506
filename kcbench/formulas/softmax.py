"""Normalised exponentials along one dimension.

The shift by the maximum cancels in exact arithmetic, so no derivative goes through it.
"""

from __future__ import annotations

from torch import Tensor


def logsumexp(x: Tensor, dim: int, *, keepdim: bool = False) -> Tensor:
    """``log sum_j exp(x_j)`` along a dimension; infinite where all of ``x`` is ``-inf`` or one of it ``inf``."""
    top = x.detach().amax(dim=dim, keepdim=True)
    shift = top.masked_fill(top.abs() == float("inf"), 0.0)
    total = (x - shift).exp().sum(dim=dim, keepdim=True).log() + shift
    return total if keepdim else total.squeeze(dim)


def log_softmax(x: Tensor, dim: int) -> Tensor:
    """``x - log sum_j exp(x_j)`` along a dimension; NaN in a row that holds ``inf`` or nothing but ``-inf``."""
    shifted = x - x.detach().amax(dim=dim, keepdim=True)
    return shifted - shifted.exp().sum(dim=dim, keepdim=True).log()


def softmax(x: Tensor, dim: int) -> Tensor:
    """``exp(x_i) / sum_j exp(x_j)`` along a dimension, as the exponential of log-probabilities."""
    return log_softmax(x, dim).exp()
