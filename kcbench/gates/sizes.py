"""Sizes of a contract's shape class that more than one gate asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kcbench.domain.contract import Axis, Contract, evaluate_size
from kcbench.gates.base import PlanContext

BUDGET = 1 << 17
"""Most elements that an input may have when an axis is stretched."""
INTERPRETED_BUDGET = 1 << 15
"""The same for Triton's interpreter, where an element costs a hundred times as much."""
TILES = (128, 64, 32, 16, 8)
"""Tiles that all axes may fill at once; the last one is for the six axes of a convolution over volumes."""
ENOUGH = 8
"""Elements at each place of a long axis with which a fault at one place shows: with one, what was left out may have been zero."""
INTERPRETED_TILES = 1 << 14
"""Most elements there when all axes are whole tiles: of three axes, one may be a program of its own for each element."""


def budget(ctx: PlanContext) -> int:
    """Most elements that an input may have where kernels run."""
    return INTERPRETED_BUDGET if ctx.interpreted else BUDGET


def elements(ctx: PlanContext, sizes: Mapping[str, int]) -> int:
    """Elements of the largest input, with some axes at other sizes than the gate's; an output counts for an eighth of its own."""
    axes = ctx.contract.sizes(**sizes)
    largest = max((math.prod(ctx.contract.shape(item, axes)) for item in ctx.contract.inputs), default=0)
    return max(largest, product_elements(ctx.contract, axes) // 8)


def product_elements(contract: Contract, axes: Mapping[str, int]) -> int:
    """Elements of the product of a task's two operands, which may be large where they are small: a column times a row.

    That is every dimension of the inputs that are reduced together, except the reduced one; what they have in common at one place
    (a batch) counts once. 1 where it is not two inputs that are.
    """
    operands = [] if contract.reduction is None else [pair for pair in contract.reduction.operands if ":" not in pair[0]]
    if len(operands) != 2:
        return 1
    kept = {
        (size, dim) if isinstance(size, str) else (name, dim): evaluate_size(size, axes)
        for name, reduced in operands
        for dim, size in enumerate(contract.input(name).shape)
        if dim != reduced % len(contract.input(name).shape)
    }
    return math.prod(kept.values())


def varying_axes(contract: Contract) -> dict[str, Axis]:
    """The axes that may have several sizes."""
    return {name: axis for name, axis in contract.axes.items() if axis.varies}


def class_sizes(axis: Axis, wanted: Sequence[int]) -> list[int]:
    """Sizes of an axis's class: those that are listed, or the nearest ones from above to those wanted; none is zero."""
    if axis.values:
        return [size for size in axis.values if size <= 256]
    step = axis.multiple_of
    snapped = dict.fromkeys(max(axis.minimum, math.ceil(size / step) * step) for size in wanted)
    return [size for size in snapped if size > 0 and axis.admits(size)]


def least_sizes(contract: Contract) -> dict[str, int]:
    """Every varying axis at its least size."""
    return {name: next(iter(class_sizes(axis, (1,))), axis.gate) for name, axis in varying_axes(contract).items()}


def whole_tiles(ctx: PlanContext) -> dict[str, int]:
    """All axes that can be a whole tile at once, the largest that is affordable: what a fast path without masks is written for.

    Empty where no axis can.
    """
    most = INTERPRETED_TILES if ctx.interpreted else BUDGET
    for tile in TILES:
        whole = {name: tile for name, axis in varying_axes(ctx.contract).items() if axis.admits(tile)}
        if whole and elements(ctx, whole) <= most:
            return whole
    return {}


def stretched(ctx: PlanContext, name: str, size: int) -> dict[str, int]:
    """One axis at a size: the others at gate sizes, or at their least where the tensors would grow too large.

    Empty where they would all the same. For an inferred contract it has been tried that these sizes go together.
    """
    for others in ({}, least_sizes(ctx.contract)):
        sizes = {**others, name: size}
        if elements(ctx, sizes) <= budget(ctx):
            return sizes
    return {}


def tuned(ctx: PlanContext, name: str) -> list[dict[str, int]]:
    """The largest size of an axis that a kernel may be tuned for and that is affordable, and the next one above it.

    The other axes are small.
    """
    axis, least = varying_axes(ctx.contract)[name], least_sizes(ctx.contract)
    reduced = ctx.contract.reduction is not None and name in ctx.contract.reduction.length
    wanted = [axis.legacy, axis.gate]
    # The interpreter runs programs one by one: thousands of rows take minutes, a long reduced axis is one program's loop.
    if reduced or not ctx.interpreted:
        wanted += [1024, ctx.full_sizes.get(name, 0)]
    for size in sorted(set(wanted), reverse=True):
        pair = [n for n in (size, size + axis.multiple_of) if axis.admits(n)]
        affordable = [n for n in pair if elements(ctx, {**least, name: n}) <= budget(ctx)]
        if affordable:
            others = _around(ctx, name, affordable[-1])
            return [{**others, name: n} for n in affordable]
    return []


def _around(ctx: PlanContext, name: str, size: int) -> dict[str, int]:
    """The other axes' sizes for an axis at a large size: the smallest at which enough elements lie at each of its places."""
    found = least_sizes(ctx.contract)
    for wanted in (3, 5, 9):
        others = {other: min([axis.gate, *class_sizes(axis, (wanted,))]) for other, axis in varying_axes(ctx.contract).items()}
        if elements(ctx, {**found, name: size}) >= ENOUGH * size or elements(ctx, {**others, name: size}) > budget(ctx):
            break
        found = others
    return found
