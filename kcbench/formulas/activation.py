"""Functions of one number, elementwise. NaN stays NaN."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def relu(x: Tensor) -> Tensor:
    """``max(x, 0)``."""
    return torch.maximum(x, x.new_zeros(()))


def clamp(x: Tensor, low: float = -math.inf, high: float = math.inf) -> Tensor:
    """``min(max(x, low), high)``."""
    return torch.minimum(torch.maximum(x, x.new_full((), low)), x.new_full((), high))


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """``x`` where it is positive, ``slope x`` elsewhere."""
    return torch.where(x > 0, x, slope * x)


def sigmoid(x: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``, by the exponential that cannot overflow."""
    small = (-x.abs()).exp()
    return torch.where(x < 0, small, torch.ones_like(small)) / (1 + small)


def silu(x: Tensor) -> Tensor:
    """``x sigmoid(x)``, also called swish."""
    return x * sigmoid(x)


def softplus(x: Tensor, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(x))``, and ``x`` itself beyond a threshold, which is part of torch's definition (2e-9 off at 20)."""
    return torch.where(x > threshold, x, relu(x) + torch.log1p((-x.abs()).exp()))


def mish(x: Tensor) -> Tensor:
    """``x tanh(log(1 + exp(x)))``."""
    return x * torch.tanh(softplus(x, threshold=math.inf))


def gelu(x: Tensor) -> Tensor:
    """``x Phi(x)`` with the normal distribution function; ``Phi(x) = erfc(-x / sqrt 2) / 2`` loses nothing in the lower tail."""
    upper: Tensor = torch.special.erfc(-x / math.sqrt(2.0))
    return x * upper / 2


def gelu_tanh(x: Tensor) -> Tensor:
    """The approximation ``x sigmoid(2 u)`` with ``u = sqrt(2 / pi) (x + 0.044715 x^3)``: ``(1 + tanh u) / 2 = sigmoid(2 u)``."""
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """``x`` where it is positive, ``alpha (exp(x) - 1)`` elsewhere."""
    return torch.where(x > 0, x, alpha * torch.expm1(torch.minimum(x, x.new_zeros(()))))


def hardsigmoid(x: Tensor) -> Tensor:
    """``min(max(x + 3, 0), 6) / 6``."""
    return torch.minimum(relu(x + 3), x.new_full((), 6.0)) / 6


def hardswish(x: Tensor) -> Tensor:
    """``x hardsigmoid(x)``."""
    return x * hardsigmoid(x)
