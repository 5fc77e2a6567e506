"""Elementwise rules: basic operations half a roundoff, division and roots one, transcendentals two and a jitter of operands.

Operations with a Python constant (a slope, a clamp bound) are basic and not exact: the constant is rounded to the working
precision, which the half roundoff shared by all elements stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kcbench.numerics.stochastic.noise import Noise
from kcbench.numerics.stochastic.registry import rule

BASIC = 0.5
QUOTIENT = 1.0
TRANSCENDENTAL = 2.0

_STORED = {2.0**-8: torch.bfloat16, 2.0**-11: torch.float16}


@rule("add sub rsub mul square clamp clamp_min clamp_max hardtanh leaky_relu _prelu_kernel prelu")
@rule("dropout native_dropout_backward outer ger cross linalg_cross deg2rad rad2deg relu6")
def _basic(noise: Noise, op: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    return noise.rounded(op(*args, **kwargs), BASIC)


@rule("sqrt rsqrt reciprocal true_divide")
def _quotient(noise: Noise, op: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    return noise.rounded(op(*args, **kwargs), QUOTIENT)


@rule("exp exp2 log log2 log10 log1p expm1 sin cos cosh tan asin acos atan atan2 sigmoid")
@rule("erfc erfinv asinh acosh atanh lgamma digamma polygamma xlogy special_xlog1py sinc hypot")
@rule("logit i0 special_i0e special_i1 special_i1e special_ndtri special_erfcx special_log_ndtr special_entr")
@rule("logaddexp logaddexp2 special_ndtr polar angle float_power")
def transcendental(noise: Noise, op: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """Two roundoffs on the result and one on each floating operand: exp(x) by way of 2^(x log2 e) rounds its argument."""
    shaken = [noise.jittered(a) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args]
    return noise.rounded(op(*shaken, **kwargs), TRANSCENDENTAL)


@rule("tanh sinh")
def through_exp(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    """A transcendental that is also off by an absolute roundoff: 2 sigmoid(2x) - 1 is an honest tanh."""
    return noise.shifted(transcendental(noise, op, x))


@rule("erf")
def erf(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    """A transcendental that is also off by two absolute roundoffs.

    The usual rational approximation (Abramowitz and Stegun, 7.1.26) is off by 2.5 u; what eager's GELU uses on a CPU, by 8 u.
    """
    return noise.shifted(transcendental(noise, op, x), 2.0)


@rule("div divide")
def _div(noise: Noise, op: Callable[..., Tensor], a: Any, b: Any, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        return noise.rounded(op(a, b), QUOTIENT)
    return _quotient_decision(noise, a, b, rounding_mode)


@rule("floor_divide")
def _floor_divide(noise: Noise, op: Callable[..., Tensor], a: Any, b: Any) -> Tensor:
    return _quotient_decision(noise, a, b, "floor")


def _quotient_decision(noise: Noise, a: Any, b: Any, rounding_mode: str) -> Tensor:
    """A quotient rounded to an integer, taken on the operands as they are: of exact operands it is exact."""
    dividend = torch.as_tensor(a, dtype=torch.float64)
    result: Tensor = noise.decide(lambda: torch.div(dividend, b, rounding_mode=rounding_mode))
    return result


@rule("remainder fmod")
def _remainder(noise: Noise, op: Callable[..., Tensor], a: Any, b: Any) -> Tensor:
    quotient = _quotient_decision(noise, a, b, "floor" if "remainder" in str(op) else "trunc")
    # fmod is exact: the multiple of b is never rounded.
    rest: Tensor = a - quotient * b
    return rest


@rule("frac")
def _frac(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    whole: Tensor = noise.decide(lambda: torch.trunc(x))
    return x - whole


@rule("pow")
def _pow(noise: Noise, op: Callable[..., Tensor], base: Any, exponent: Any) -> Tensor:
    if isinstance(exponent, (int, float)) and isinstance(base, Tensor):
        size = abs(exponent)
        if exponent in (0, 1):
            return op(base, exponent)
        if size in (0.5, 1):
            return noise.rounded(op(base, exponent), QUOTIENT)
        if float(exponent).is_integer() and size <= 8:
            return noise.rounded(op(base, exponent), BASIC * (size - 1) + (QUOTIENT if exponent < 0 else 0))
    if isinstance(base, Tensor):
        y = op(noise.jittered(base), exponent)
        if noise.scale:
            # 2^(e log2 b) rounds the product e log2 b, hence a relative error of u |e ln b|.
            turn = torch.nan_to_num(torch.log(base.abs()) * exponent, 0.0, 0.0, 0.0)
            y = y * (noise.xi(y) * turn * noise.u + 1.0)
        return noise.rounded(y, TRANSCENDENTAL)
    return noise.rounded(op(base, noise.jittered(exponent, max(1.0, abs(math.log(base))) if base > 0 else 1.0)), TRANSCENDENTAL)


@rule("lerp")
def _lerp(noise: Noise, op: Callable[..., Tensor], start: Tensor, end: Tensor, weight: Any) -> Tensor:
    step = noise.rounded(noise.rounded(end - start, BASIC) * weight, BASIC)
    return noise.rounded(start + step, BASIC)


@rule("addcmul")
def _addcmul(noise: Noise, op: Callable[..., Tensor], x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    return noise.rounded(x + noise.rounded(a * b * value, 2 * BASIC), BASIC)


@rule("addcdiv")
def _addcdiv(noise: Noise, op: Callable[..., Tensor], x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    return noise.rounded(x + noise.rounded(a / b * value, QUOTIENT + BASIC), BASIC)


@rule("native_dropout")
def _native_dropout(noise: Noise, op: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    y, mask = op(*args, **kwargs)
    return noise.rounded(y, BASIC), mask


def _representable(value: float) -> bool:
    """Whether a constant survives rounding to float32: small integers, powers of two, infinities."""
    return math.isinf(value) or abs(value) > 3e38 or torch.tensor(value, dtype=torch.float32).item() == value


@rule("full full_like new_full fill scalar_tensor linspace logspace arange", creates=True, stores=())
def _constant(noise: Noise, op: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """A created tensor: exact where its values are numbers of the working precision, and of the storage dtype."""
    return _literal(noise, lambda y: y, op(*args, **kwargs))


@rule("lift_fresh lift", creates=True, stores=())
def _literal(noise: Noise, op: Callable[..., Tensor], x: Tensor) -> Tensor:
    y = op(x)
    if not noise.scale or y.dtype is not torch.float64:
        return y
    # A literal tensor is somebody's object: it is never changed in place.
    if not torch.equal(y.float().double(), y):
        y = noise.rounded(y.clone(), BASIC)
    if noise.precision.store and not torch.equal(y.to(_STORED[noise.precision.store]).double(), y):
        y = y.clone()
        noise.stored(y)
    return y


@rule("masked_fill")
def _masked_fill(noise: Noise, op: Callable[..., Tensor], x: Tensor, mask: Tensor, value: Any) -> Tensor:
    if isinstance(value, (int, float)) and value == value and not _representable(float(value)):
        value = value * (1.0 + BASIC * noise.u * noise.sign())
    return op(x, mask, value)
