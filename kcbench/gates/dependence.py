"""Dependence: which elements of the results follow from an element of an input.

Where one factor is zero for every input, such as a masked weight or an initial state, IEEE arithmetic makes NaN of the product if the
other one is NaN. A kernel that never makes such a product is no worse for it: a result that does not follow from a value does not
owe it its NaN. A factor that merely happens to be zero is another matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kcbench.domain.probe import Probe
from kcbench.gates.base import JudgeContext, item_recipe

DRAWS = 4
"""How many draws of everything else have to agree: a factor that happens to be zero, behind a ReLU say, is not zero in all."""
_ELSEWHERE = 16
"""At how many elements it is tried whether an input matters at all."""


def dependent(ctx: JudgeContext, probe: Probe, name: str, cells: Sequence[Sequence[int]]) -> tuple[Tensor, ...]:
    """Which elements of the results follow from some elements of an input.

    In float64, the elements are replaced by values beyond both ends of the input's range, with ordinary values everywhere else.
    An element of a result that stays as it is, to the bit and in several draws, does not follow from them. If nothing follows from
    an input anywhere, such as an operand times zero, everything is said to: the formula is all that there is to go by.

    Args:
        ctx: What the gate knows.
        probe: Sizes and dtype are taken from it.
        name: The input.
        cells: Positions in it.

    Returns:
        By output a mask of its shape.
    """
    moved: list[Tensor] = []
    for draw in range(DRAWS):
        found = _moved(ctx, probe, name, cells, f"exc01/dependence {draw}")
        moved = [before | now for before, now in zip(moved, found, strict=True)] if moved else found
    if not any(bool(mask.any()) for mask in moved) and not _matters(ctx, probe, name):
        return tuple(torch.ones_like(mask) for mask in moved)
    return tuple(moved)


def _matters(ctx: JudgeContext, probe: Probe, name: str) -> bool:
    """Whether any result follows from any of some elements that lie all over an input."""
    shape = ctx.contract.shape(ctx.contract.input(name), probe.axes)
    places = torch.linspace(0, torch.Size(shape).numel() - 1, _ELSEWHERE, dtype=torch.float64).round().long().unique()
    cells = [[int(index) for index in torch.unravel_index(place, shape)] for place in places]
    return any(bool(mask.any()) for mask in _moved(ctx, probe, name, cells, "exc01/dependence 0"))


def _moved(ctx: JudgeContext, probe: Probe, name: str, cells: Sequence[Sequence[int]], stream: str) -> list[Tensor]:
    """Which elements of the results change when some elements of an input do, in one draw."""
    base = item_recipe(ctx.contract, name)

    def truth(value: float | None) -> tuple[Tensor, ...]:
        recipe = base if value is None else {"kind": "poison", "base": base, "at": [list(cell) for cell in cells], "value": value}
        changed = ctx.plan.probe("dependence", dtype=probe.dtype, axes=probe.axes, inputs={name: recipe}, stream=stream)
        return ctx.oracle.truth(changed)

    ordinary = ctx.plan.probe("dependence", dtype=probe.dtype, axes=probe.axes, stream=stream)
    values = ctx.oracle.inputs(ordinary)[name]
    low, high = float(values.min()), float(values.max())
    room = 1.0 + max(abs(low), abs(high))
    before = truth(None)
    changed = [truth(value) for value in (low - room, high + room)]
    return [torch.stack([_differ(after[place], output) for after in changed]).any(dim=0) for place, output in enumerate(before)]


def _differ(first: Tensor, second: Tensor) -> Tensor:
    return (first != second) & ~(first.isnan() & second.isnan())
