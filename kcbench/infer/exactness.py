"""Whether a float64 evaluation holds no rounding at all, so that any float32 kernel owes the same bits in any order.

Float32 holds 24 bits. Numbers of a tensor that are multiples of one power of two, its *grain*, and no larger than 2^24 grains are
therefore exact, and so is a sum of them in any order and grouping if the sum of their magnitudes is no larger than that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from kcbench.infer.trace import CONTRACTIONS, operation_length, words

GRAIN = 2.0**-10
"""Every value must be a multiple of this."""
BITS = 2.0**24
"""Largest value of a tensor, in its own grains."""
LARGEST = 2.0**23
"""Largest sum of magnitudes, in grains. A fused kernel may add one more operand to a sum, such as a residual."""

_ROUNDED = words(
    """
    _softmax _log_softmax logsumexp logcumsumexp linalg_vector_norm norm var std var_mean native_layer_norm native_group_norm
    _scaled_dot_product_flash_attention_for_cpu
    """
)
"""Kernels for these differ in more than the order of a sum: where the result holds no rounding, that is luck."""
_CHOICES = ("max", "min", "gather", "index", "embedding", "sort", "topk")
"""Parts of the names of operations that hand on some of their values and add nothing."""
_SUMS = CONTRACTIONS | {"sum", "mean", "cumsum"}
_BIAS_FIRST = ("addmm", "baddbmm", "addmv")


class ExactMode(TorchDispatchMode):
    """Watches an evaluation; :attr:`exact` says in the end whether every operation was exact."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.exact = True

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[-1]
        if self.exact and "empty" not in name:
            outputs = [t for t in (result if isinstance(result, (list, tuple)) else (result,)) if isinstance(t, Tensor)]
            self.exact = all(_held(t) for t in _floats(outputs)) and _exact(name, func, args, kwargs or {}, outputs)
        return result


def _floats(values: Sequence[Any]) -> list[Tensor]:
    return [t for t in values if isinstance(t, Tensor) and t.is_floating_point() and t.numel()]


def _held(x: Tensor) -> bool:
    """Whether float32 holds the tensor's values with bits to spare for its grain."""
    step = grain(x)
    return not bool(torch.isnan(x).any()) and step >= GRAIN and largest(x) <= BITS * step


def grain(x: Tensor) -> float:
    """The largest power of two of which all finite values are multiples; infinite where all of them are zero."""
    values = x.double()[torch.isfinite(x) & (x != 0)]
    if not values.numel():
        return math.inf
    mantissa, exponent = torch.frexp(values)
    bits = (mantissa.abs() * 2.0**53).to(torch.int64)
    return float(torch.ldexp((bits & -bits).double(), exponent - 53).min())


def largest(x: Tensor) -> float:
    """The largest finite magnitude; 0 where there is none."""
    values = x.double()[torch.isfinite(x)]
    return float(values.abs().max()) if values.numel() else 0.0


def _exact(name: str, func: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: Sequence[Tensor]) -> bool:
    """Whether an operation rounds nothing, whatever the order in which a kernel does its part."""
    if name in _ROUNDED or "batch_norm" in name:
        return False
    operands = _floats(args)
    if not operands or any(part in name for part in _CHOICES):
        return True
    if name in ("div", "div_"):
        # Kernels multiply by the reciprocal.
        divisors = args[1].unique().tolist() if isinstance(args[1], Tensor) else [args[1]]
        return all(_power_of_two(value) for value in divisors)
    length = operation_length(name, args, outputs)
    if length is None:
        # Something that is not known and makes few numbers of many: it may sum them, as a loss or an average does.
        length = max(t.numel() for t in operands) // max(1, *(t.numel() for t in outputs))
    if length <= 1:
        return True
    if name == "mean" and not _power_of_two(length):
        return False
    size, step = _terms(name, func, args, kwargs, length)
    return size <= LARGEST * step


def _terms(name: str, func: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], length: int) -> tuple[float, float]:
    """A bound on every partial sum of an operation, and the grain of what it adds up."""
    operands = _floats(args)
    grains = [min(1.0, grain(t)) for t in operands]
    if name in _SUMS or "convolution" in name:
        sums = func(*(t.abs() if isinstance(t, Tensor) and t.is_floating_point() else t for t in args), **kwargs)
        bias = [grains.pop(0)] if name in _BIAS_FIRST else []
        return largest(sums) * (length if name == "mean" else 1), min([math.prod(grains[:2]), *grains[2:], *bias])
    sizes = [max(1.0, largest(t)) for t in operands]
    if name in ("prod", "cumprod"):
        return sizes[0] ** length if length * math.log2(sizes[0]) < 64 else math.inf, grains[0] ** length
    # Squares of differences are the worst that losses and averages sum.
    return length * sum(sizes[:2]) ** 2, min(grains) ** 2


def _power_of_two(value: float) -> bool:
    return math.frexp(abs(value))[0] == 0.5
