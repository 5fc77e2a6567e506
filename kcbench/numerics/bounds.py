"""Closed-form error bounds for one sum of products per output element, derived from formats alone and never from a kernel."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kcbench.numerics.formats import format_of

TF32_INPUT = 2.0**-10
"""Relative error of a float32 input truncated to tf32's 11 significant bits; it covers the 2^-11 of rounding to nearest."""


def gamma(n: int, u: float) -> float:
    """Worst-case growth of n roundings, ``n u / (1 - n u)``; infinite from n u = 1.

    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1: a sum of n products in any order is off by
    at most gamma_n times the sum of their sizes.
    """
    return n * u / (1 - n * u) if n * u < 1 else math.inf


def lambda_factor(n: int, m: int, delta: float = 1e-9) -> float:
    """The ``lambda`` of the probabilistic bound ``lambda sqrt(n) u`` for m sums of n terms, ``sqrt(2 ln(2 n m / delta))``.

    N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41 (2019): with independent roundings of mean zero, each of the n m partial
    sums leaves the bound with probability ``2 exp(-lambda^2 / 2)`` at most; the union bound makes that ``delta`` for all of them.
    """
    return math.sqrt(2 * math.log(2 * max(n, 1) * max(m, 1) / delta))


def closed_form(
    y64: Tensor, magnitude64: Tensor, *, length: int, outputs: int, dtype: str, regime: str, block: int = 16
) -> Tensor:
    """Tolerance per output element of a contraction whose products are summed in any order with float32 accumulators.

    ``tau = u_out |y| + (1 + u_out) (c + 2 u_in + u_in^2) B + eta_out`` with
    ``c = min(gamma_N, lambda sqrt(N) u_acc + 2 u_acc ceil(N / b))``. The term in b covers the accumulators of tensor cores, which
    truncate once for each block (M. Fasi et al., PeerJ Computer Science 7:e330, 2021). ``u_in`` is 0 unless the regime lets
    float32 inputs be cut to tf32: 16-bit inputs fit into tf32 as they are, float64 inputs are never cut.

    Args:
        y64: float64 truth on inputs already rounded to the dtype, any shape.
        magnitude64: B, the same sum over absolute values, of the same shape.
        length: N, how many products each element sums.
        outputs: M, over how many elements the probability of a false alarm is spread.
        dtype: Name of the output's (and the inputs') dtype. Accumulators are float32, for float64 they are float64.
        regime: ``ieee`` or ``tf32``.
        block: b, how many products a tensor core adds at once.

    Returns:
        A float64 tensor of y64's shape.

    Raises:
        ValueError: unknown dtype or regime.
    """
    if regime not in ("ieee", "tf32"):
        raise ValueError(f"unknown precision regime {regime!r}")
    form = format_of(dtype)
    u_acc = form.u if dtype == "float64" else format_of("float32").u
    u_in = TF32_INPUT if regime == "tf32" and dtype == "float32" else 0.0
    likely = lambda_factor(length, outputs) * math.sqrt(length) * u_acc + 2 * u_acc * math.ceil(length / block)
    relative = min(gamma(length, u_acc), likely) + 2 * u_in + u_in * u_in
    return form.u * y64.abs() + (1 + form.u) * relative * magnitude64 + form.eta


def classic(y64: Tensor, *, dtype: str, length: int) -> Tensor:
    """The published bound, one number for all elements: ``4 eps sqrt(N) max(1, max |y|)`` with eps = 2u.

    Shah and Shrestha, arXiv 2608.12700, gate ORD-01, with N the reduction length. Elements that are not finite do not count.

    Returns:
        A float64 tensor of y64's shape.
    """
    size = torch.where(torch.isfinite(y64), y64.abs(), 0.0)
    largest = max(1.0, float(size.max())) if size.numel() else 1.0
    return torch.full(y64.shape, 8 * format_of(dtype).u * math.sqrt(length) * largest, dtype=torch.float64)
