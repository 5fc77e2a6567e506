"""What a model does at some sizes, without doing it: operations, lengths of reductions and cost, from the meta device."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from kcbench.infer.problem import Problem, Sizes


def words(text: str) -> frozenset[str]:
    """A set of names from a text of them."""
    return frozenset(text.split())


_FREE = words(
    """
    view _unsafe_view reshape expand permute transpose t detach alias slice select clone unsqueeze squeeze split as_strided
    _reshape_alias contiguous lift_fresh unbind split_with_sizes _to_copy copy_ empty empty_like zeros ones fill_ zero_
    """
)
"""Operations that move or make data only: sizes decide how many of them there are."""
CONTRACTIONS = words("mm addmm bmm baddbmm addmv mv dot _scaled_dot_product_flash_attention_for_cpu")
_REDUCTIONS = words("sum mean amax amin max min var std var_mean logsumexp linalg_vector_norm norm prod argmax argmin")


class TooSlow(Exception):
    """The trace took longer than it may."""


@dataclass(frozen=True)
class Trace:
    """One forward, as a list of operations."""

    operations: tuple[str, ...]
    """Names, without those that only move data."""
    lengths: tuple[tuple[str, int], ...]
    """(operation, number of values that go into one) of every contraction, reduction and normalisation."""
    flat: tuple[int, ...]
    """Number of dimensions of size one among the outputs of each operation; a group of one channel is one as well."""
    outputs: tuple[tuple[int, ...], ...]
    cost: int = 0
    """Multiply-adds and element operations."""
    elements: int = 0
    """Elements of inputs, parameters and all results."""

    @property
    def kinds(self) -> frozenset[str]:
        """The distinct operations."""
        return frozenset(self.operations)


class _Recorder(TorchDispatchMode):
    def __init__(self, limit: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[str] = []
        self.lengths: list[tuple[str, int]] = []
        self.flat: list[int] = []
        self.cost = self.elements = 0
        self._end = time.thread_time() + limit

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if time.thread_time() > self._end:
            raise TooSlow
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[-1]
        outs = [t for t in (result if isinstance(result, (list, tuple)) else (result,)) if isinstance(t, Tensor)]
        size = sum(t.numel() for t in outs)
        if name in _FREE:
            return result
        self.operations.append(name)
        self.flat.append(sum(1 for t in outs[:1] for n in t.shape if n == 1) + _group_of_one(name, args))
        self.elements += size
        length = operation_length(name, args, outs)
        if length is not None:
            self.lengths.append((name, length))
        if "convolution" in name and args[6]:
            # Transposed: every input element meets a whole filter.
            self.cost += args[0].numel() * math.prod(args[1].shape[1:])
        else:
            self.cost += size * (length or 1) if name in CONTRACTIONS or "conv" in name else max(size, _size(args))
        return result


def _group_of_one(name: str, args: Sequence[Any]) -> bool:
    """Whether the channels of a grouped operation stand alone, so that it no longer matters which are grouped."""
    if name == "native_group_norm":
        return bool(args[4] == args[6])
    return "convolution" in name and args[1].dim() > 1 and args[1].shape[1] == 1


def _size(args: Sequence[Any]) -> int:
    return max((value.numel() for value in args if isinstance(value, Tensor)), default=0)


def operation_length(name: str, args: Sequence[Any], outs: Sequence[Tensor]) -> int | None:
    """How many values go into one result of a contraction, reduction or normalisation; None for other operations."""
    tensors = [value for value in args if isinstance(value, Tensor)]
    if not tensors or not outs:
        return None
    if name in ("addmm", "baddbmm", "addmv"):
        return int(tensors[1].shape[-1])
    if name in CONTRACTIONS:
        return int(tensors[0].shape[-1])
    if "convolution" in name:
        return math.prod(tensors[1].shape[1:])
    if name in ("_softmax", "_log_softmax", "cumsum", "cumprod", "logcumsumexp") and len(args) > 1:
        return int(tensors[0].shape[args[1]]) if tensors[0].dim() else 1
    if name == "native_layer_norm":
        return int(math.prod(args[1]))
    if name == "native_group_norm":
        return int(args[4] * args[5] // args[6])
    if "batch_norm" in name:
        return tensors[0].numel() // max(1, tensors[0].shape[1])
    if name in _REDUCTIONS:
        return tensors[0].numel() // max(1, outs[0].numel())
    return None


def trace(problem: Problem, sizes: Sizes, *, seconds: float = 10.0, real: bool = False) -> Trace:
    """Trace one forward at some sizes.

    Args:
        problem: The problem.
        sizes: Sizes by name; the others keep their values.
        seconds: How long it may take.
        real: Run on the CPU instead of the meta device, for models that read values.

    Raises:
        TooSlow: It took longer.
        Exception: Whatever the model raises at these sizes.
    """
    recorder = _Recorder(seconds)
    model = problem.model(sizes, meta=not real)
    inputs = problem.inputs(sizes) if real else problem.interface(sizes)[0]
    state = model.state_dict().values()
    with torch.no_grad(), recorder:
        value = model(*inputs)
    outputs = value if isinstance(value, (tuple, list)) else (value,)
    held = sum(t.numel() for t in state) + sum(t.numel() for t in inputs if isinstance(t, Tensor))
    return Trace(
        tuple(recorder.operations),
        tuple(recorder.lengths),
        tuple(recorder.flat),
        tuple(tuple(t.shape) for t in outputs if isinstance(t, Tensor)),
        recorder.cost,
        recorder.elements + held,
    )


def degradations(original: Trace, other: Trace, least: int = 8) -> Iterator[str]:
    """Why sizes do not stand for the original ones: other operations, dimensions that collapsed, sums that became short.

    Args:
        original: The trace at the problem's own sizes.
        other: The trace at the sizes in question.
        least: How many values a sum must keep, where it had as many.
    """
    if original.kinds != other.kinds:
        changed = sorted(original.kinds ^ other.kinds)
        yield f"the operations change ({', '.join(changed[:3])})"
    if len(original.flat) == len(other.flat) and any(b > a for a, b in zip(original.flat, other.flat, strict=True)):
        yield "a dimension collapses to 1"
    if len(original.lengths) == len(other.lengths):
        for (name, before), (_, after) in zip(original.lengths, other.lengths, strict=True):
            if after < min(before, least):
                yield f"{name} is left with {after} values of {before}"
                return
    elif other.lengths:
        for name in {name for name, _ in original.lengths}:
            before = min(length for kind, length in original.lengths if kind == name)
            after = min((length for kind, length in other.lengths if kind == name), default=before)
            if after < min(before, least):
                yield f"{name} is left with {after} values of {before}"
                return
