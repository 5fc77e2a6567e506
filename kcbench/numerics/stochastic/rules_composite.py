"""Composites: softmax and the activations, taken apart by the textbook formula, with inner operations at the accumulate level.

Where honest kernels write a formula that is worse conditioned than eager's (log(1 + e^x) for softplus, e^x - 1 for ELU) the
textbook one is taken: its absolute error of one roundoff is what the working precision allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule
from kcbench.numerics.stochastic.rules_elementwise import BASIC, QUOTIENT, TRANSCENDENTAL, erf, through_exp
from kcbench.numerics.stochastic.rules_reduction import total


def transcend(noise: Noise, f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A transcendental function of one operand: two roundoffs, and a jitter of the operand."""
    return noise.rounded(f(noise.jittered(x)), TRANSCENDENTAL)


def _exponentials(noise: Noise, x: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """X - max, its exponential, and the sum of that."""
    shifted = noise.rounded(x - x.amax(dim, keepdim=True))
    e = transcend(noise, torch.exp, shifted)
    return shifted, e, total(noise, e, dim, keepdim=True)


@rule("_softmax softmax")
def softmax(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    """Softmax as exp(x - max) over its sum."""
    if not x.dim():
        return op(x, dim, *_, **__)
    _shifted, e, s = _exponentials(noise, x, dim)
    return noise.rounded(e.div_(s), QUOTIENT)


@rule("_safe_softmax")
def _safe_softmax(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    masked = (x == -math.inf).all(dim, keepdim=True)
    return softmax(noise, op, x, dim).masked_fill_(masked, 0.0)


@rule("_log_softmax log_softmax")
def _log_softmax(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    if not x.dim():
        return op(x, dim, *_, **__)
    shifted, _e, s = _exponentials(noise, x, dim)
    return noise.rounded(shifted - transcend(noise, torch.log, s))


@rule("_softmax_backward_data")
def softmax_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, y: Tensor, dim: int, *_: Any) -> Tensor:
    """Its gradient, g y - y sum(g y)."""
    if not y.dim():
        return torch.zeros_like(y)
    product = noise.rounded(grad * y)
    s = total(noise, product, dim, keepdim=True)
    return noise.rounded(product - noise.rounded(y * s))


@rule("_log_softmax_backward_data")
def _log_softmax_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, y: Tensor, dim: int, *_: Any) -> Tensor:
    if not y.dim():
        return torch.zeros_like(y)
    s = total(noise, grad, dim, keepdim=True)
    return noise.rounded(grad - noise.rounded(transcend(noise, torch.exp, y) * s))


def _sigmoid(noise: Noise, x: Tensor) -> Tensor:
    return transcend(noise, torch.sigmoid, x)


def _log1p_exp(noise: Noise, x: Tensor) -> Tensor:
    """log(1 + e^x) for any x, as max(x, 0) + log(1 + e^-|x|), each step rounded."""
    e = transcend(noise, torch.exp, -x.abs())
    log = transcend(noise, torch.log, noise.rounded(e.add_(1.0)))
    return noise.rounded(log.add_(x.clamp(min=0.0)))


@rule("gelu")
def _gelu(noise: Noise, op: Callable[..., Tensor], x: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate == "none":
        inner = erf(noise, torch.erf, noise.rounded(x * math.sqrt(0.5)))
    else:
        cubic = noise.rounded(x * x * x * 0.044715, 3 * BASIC)
        inner = through_exp(noise, torch.tanh, noise.rounded(noise.rounded(x + cubic) * math.sqrt(2 / math.pi)))
    return noise.rounded(noise.rounded(inner + 1.0) * x * 0.5)


@rule("silu")
def _silu(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    return noise.rounded(_sigmoid(noise, x) * x)


@rule("mish")
def _mish(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    return noise.rounded(through_exp(noise, torch.tanh, _log1p_exp(noise, x)) * x)


@rule("softplus")
def _softplus(noise: Noise, op: Callable[..., Tensor], x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    scaled = noise.rounded(x * beta) if beta != 1 else x
    y = noise.rounded(_log1p_exp(noise, scaled) / beta) if beta != 1 else _log1p_exp(noise, scaled)
    return torch.where(x * beta > threshold, x, y)


@rule("log_sigmoid_forward")
def _log_sigmoid(noise: Noise, op: Callable[..., Any], x: Tensor) -> tuple[Tensor, Tensor]:
    return _log1p_exp(noise, -x).neg_(), op(x)[1]


@rule("elu celu selu")
def _elu(noise: Noise, op: Callable[..., Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """All three are a scaled x above zero and a multiple of e^(x s) - 1 below, so the error below is that of e^(x s) - 1."""
    y = noise.rounded(op(x, *args, **kwargs))
    if not noise.scale:
        return y
    # The slope towards minus infinity is the multiple: the value that y saturates at.
    plateau = op(torch.full((), -1e4, dtype=x.dtype, device=x.device), *args, **kwargs)
    e = (y - plateau).abs()
    error = noise.xi(x) * (2 * TRANSCENDENTAL * noise.u) * e + noise.xi(x) * (BASIC * noise.u) * plateau
    return torch.where(x > 0, y, y + torch.nan_to_num(error, 0.0, 0.0, 0.0))


def _ramp(noise: Noise, x: Tensor) -> Tensor:
    """The ramp x + 3 between 0 and 6. The same ramp as x/6 + 1/2 loses half an absolute roundoff of it, three of this one."""
    return noise.shifted(noise.rounded(x + 3.0), 3.0).clamp_(0.0, 6.0)


@rule("hardsigmoid")
def _hardsigmoid(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    return noise.rounded(_ramp(noise, x).div_(6.0), QUOTIENT)


@rule("hardswish")
def _hardswish(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    return noise.rounded(_ramp(noise, x).mul_(x).div_(6.0), QUOTIENT + BASIC)


@rule("softshrink")
def _softshrink(noise: Noise, op: Callable[..., Tensor], x: Tensor, lambd: float = 0.5) -> Tensor:
    # The bound is a constant of the working precision, and the difference can be far smaller than it.
    bound = lambd * (1.0 + BASIC * noise.u * noise.sign())
    return noise.rounded(op(x, bound))


@rule("glu")
def _glu(noise: Noise, op: Callable[..., Tensor], x: Tensor, dim: int = -1) -> Tensor:
    value, gate = x.chunk(2, dim)
    return noise.rounded(_sigmoid(noise, gate) * value)


@rule("sigmoid_backward")
def _sigmoid_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, y: Tensor) -> Tensor:
    return noise.rounded(noise.rounded(1.0 - y) * y * grad, 2 * BASIC)


@rule("tanh_backward")
def _tanh_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, y: Tensor) -> Tensor:
    return noise.rounded(noise.rounded(1.0 - noise.rounded(y * y)) * grad)


@rule("silu_backward")
def _silu_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, x: Tensor) -> Tensor:
    s = _sigmoid(noise, x)
    inner = noise.rounded(noise.rounded(noise.rounded(1.0 - s) * x) + 1.0)
    return noise.rounded(s * inner * grad, 2 * BASIC)


@rule("gelu_backward")
def _gelu_backward(noise: Noise, op: Callable[..., Tensor], grad: Tensor, x: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate == "none":
        cdf = noise.rounded(erf(noise, torch.erf, noise.rounded(x * math.sqrt(0.5))) + 1.0).mul_(0.5)
        density = noise.rounded(transcend(noise, torch.exp, noise.rounded(x * x * -0.5)) * (1 / math.sqrt(2 * math.pi)))
        return noise.rounded(noise.rounded(cdf + noise.rounded(density * x)) * grad)
    square = noise.rounded(x * x)
    inner = noise.rounded(noise.rounded(noise.rounded(square * 0.044715) + 1.0) * x * math.sqrt(2 / math.pi), 2 * BASIC)
    t = through_exp(noise, torch.tanh, inner)
    slope = noise.rounded(noise.rounded(square * (3 * 0.044715) + 1.0, 2 * BASIC) * math.sqrt(2 / math.pi))
    right = noise.rounded(noise.rounded(1.0 - noise.rounded(t * t)) * slope * x * 0.5, 2 * BASIC)
    return noise.rounded(noise.rounded(noise.rounded(t + 1.0).mul_(0.5) + right) * grad)
