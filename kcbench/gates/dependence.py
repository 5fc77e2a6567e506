"""Dependence: which elements of the results follow from an element of an input.

Where one factor is zero for every input, such as a masked weight or an initial state, IEEE arithmetic makes NaN of the product if
the other one is NaN. A kernel that never makes such a product is no worse for it: a result that does not follow from a value does
not owe it its NaN. A factor that merely happens to be zero is another matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kcbench.domain.probe import Probe, Recipe
from kcbench.gates.base import JudgeContext, item_recipe, real_inputs

STREAMS = tuple(f"exc01/dependence {draw}" for draw in range(4))
"""Draws of everything else, which have to agree: a factor that happens to be zero, behind a ReLU say, is not zero in all."""
SIGNS = (1.0, -1.0)
"""The same where an input chooses among the others, such as a mask or an index: it stays, and the others change their sign."""
_ELSEWHERE = 16
"""At how many elements it is tried whether an input matters at all."""


def dependent(ctx: JudgeContext, probe: Probe, name: str, cell: Sequence[int], output: int, asked: Tensor) -> Tensor:
    """Which elements of an output follow from an element of an input.

    In float64, the element is replaced by values beyond both ends of the input's range, with ordinary values elsewhere. What
    stays as it is, to the bit and in several draws, does not follow from it. If nothing follows from an input anywhere, such as
    an operand times zero, everything is said to: the formula is all that there is to go by.

    What a mask or an index leaves out is left out on purpose: those inputs are the probe's own in every draw.

    Args:
        ctx: What the gate knows.
        probe: Sizes and dtype are taken from it.
        name: The input.
        cell: Position in it.
        output: Which output.
        asked: Which of its elements are asked about: once all of them are known to follow, no further draw is made.

    Returns:
        A mask of the output's shape; what it says of elements that are not asked about may be too little.
    """
    chooses = any(item.kind in ("index", "given") for item in ctx.contract.inputs)
    draws = [(probe.stream, sign) for sign in SIGNS] if chooses else [(stream, 1.0) for stream in STREAMS]
    follows, matters = torch.zeros_like(asked), False
    for stream, sign in draws:
        moved = _moved(ctx, probe, name, [cell], stream, sign)
        follows, matters = follows | moved[output], matters or any(bool(mask.any()) for mask in moved)
        if not bool((asked & ~follows).any()):
            return follows
    return follows if matters or _matters(ctx, probe, name) else torch.ones_like(asked)


def _matters(ctx: JudgeContext, probe: Probe, name: str) -> bool:
    """Whether any result follows from any of some elements that lie all over an input."""
    shape = ctx.contract.shape(ctx.contract.input(name), probe.axes)
    places = torch.linspace(0, torch.Size(shape).numel() - 1, _ELSEWHERE, dtype=torch.float64).round().long().unique()
    cells = [[int(index) for index in torch.unravel_index(place, shape)] for place in places]
    return any(bool(mask.any()) for mask in _moved(ctx, probe, name, cells, probe.stream, 1.0))


def _moved(ctx: JudgeContext, probe: Probe, name: str, cells: Sequence[Sequence[int]], stream: str, sign: float) -> list[Tensor]:
    """Which elements of the results change when some elements of an input do, in one draw."""
    inputs = {other: item_recipe(ctx.contract, other) for other in real_inputs(ctx.contract)}
    inputs = {other: {**recipe, "gain": sign * recipe.get("gain", 1.0)} for other, recipe in inputs.items()}
    base = inputs.get(name) or item_recipe(ctx.contract, name)

    def probed(recipe: Recipe) -> Probe:
        inputs[name] = recipe
        return ctx.plan.probe("dependence", dtype=probe.dtype, axes=probe.axes, inputs=dict(inputs), stream=stream)

    def truth(value: float) -> tuple[Tensor, ...]:
        return ctx.oracle.truth(probed({"kind": "poison", "base": base, "at": [list(cell) for cell in cells], "value": value}))

    ordinary = probed(base)
    values = ctx.oracle.inputs(ordinary)[name]
    low, high = float(values.min()), float(values.max())
    room = 1.0 + max(abs(low), abs(high))
    before, changed = ctx.oracle.truth(ordinary), [truth(value) for value in (low - room, high + room)]
    return [torch.stack([_differ(after[place], output) for after in changed]).any(dim=0) for place, output in enumerate(before)]


def _differ(first: Tensor, second: Tensor) -> Tensor:
    return (first != second) & ~(first.isnan() & second.isnan())
