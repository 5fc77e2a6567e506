"""Whether what a timed call returned is the answer to its own inputs.

Accuracy is the gates' business. Here the question is whether the work was done at all, and a tolerance such as the legacy check's
cannot answer it: at benchmark sizes a softmax of other inputs, or zeros, differ from the right answer by less. So the distance
from the right answer is measured in units of the distance between the right answers to two trials: close to 0 for any honest
kernel, in any precision, and about 1 for a result that was kept from another call.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kcbench.domain.observation import Observation
from kcbench.numerics.formats import decode
from kcbench.runtime.stopwatch import reason_of

NEAR = 0.05
"""Largest distance that passes, in units of the distance between two trials' answers."""
ROUNDING = 8.0
"""Differences of so many units in the last place pass whatever that distance is: two answers may be nearly alike."""
CHUNK = 1 << 22
"""Elements that are looked at together."""
LOOKED_AT = 1 << 23
"""Elements of one output that are looked at: of a larger one, every so many-th."""


def problem(want: Observation, other: Observation | None, seen: Observation) -> str:
    """What is wrong with a timed call's outputs, in one line; empty where nothing is.

    Args:
        want: The eager model's answer to the same inputs.
        other: Its answer to inputs of another set. None where there is no other set: the distance from zero is the measure then,
            since a factor alone may leave an answer nearly as it is.
        seen: What the timed call returned.
    """
    if not seen.ok:
        return f"it cannot be read: {reason_of(seen)}"
    if len(seen.outputs) != len(want.outputs):
        return f"expected {len(want.outputs)} outputs, found {len(seen.outputs)}"
    others = want.outputs if other is None else other.outputs
    for index, (right, wrong, mine) in enumerate(zip(want.outputs, others, seen.outputs, strict=True)):
        if (right.shape, right.dtype) != (mine.shape, mine.dtype):
            expected, found = (f"{record.dtype}{list(record.shape)}" for record in (right, mine))
            return f"output {index}: expected {expected}, found {found}"
        found = _compare(decode(right), None if other is None else decode(wrong), decode(mine))
        if found:
            return f"output {index}: {found}"
    return ""


def _compare(right: Tensor, wrong: Tensor | None, mine: Tensor) -> str:
    if wrong is None or wrong.shape != right.shape:
        # Where the sizes of an answer depend on the values, another one is no measure either.
        wrong = torch.zeros_like(right)
    error, spread, size = _distances(right, wrong, mine)
    if error is None:
        return "NaN or infinity where the right answer is finite, or the reverse"
    precision = torch.finfo(right.dtype).eps if right.is_floating_point() or right.is_complex() else 0.0
    if error <= max(NEAR * spread, ROUNDING * precision * size):
        return ""
    return f"{error / spread if spread else math.inf:.2g} times as far from the right answer as the answer to other inputs is"


def _distances(right: Tensor, wrong: Tensor, mine: Tensor) -> tuple[float | None, float, float]:
    """Euclidean norms of ``mine - right`` (None where they differ in what is finite), ``wrong - right`` and ``right``."""
    error = spread = size = 0.0
    stride = -(-right.numel() // LOOKED_AT) or 1
    flat = [tensor.reshape(-1)[::stride] for tensor in (right, wrong, mine)]
    for start in range(0, len(flat[0]), CHUNK):
        a, b, c = (_wide(tensor[start : start + CHUNK]) for tensor in flat)
        finite = torch.isfinite(a)
        if not torch.equal(finite, torch.isfinite(c)):
            return None, 0.0, 0.0
        both = finite & torch.isfinite(b)
        error += float((c - a)[finite].abs().square().sum())
        spread += float((b - a)[both].abs().square().sum())
        size += float(a[finite].abs().square().sum())
    return math.sqrt(error), math.sqrt(spread), math.sqrt(size)


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
