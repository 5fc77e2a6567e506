"""Axes: which named sizes a problem has, how its shapes and arguments follow from them, and which sizes are in its class."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from kcbench.domain.contract import Size, evaluate_argument, evaluate_size
from kcbench.infer.problem import Problem
from kcbench.infer.shrink import GATE_COST, GATE_ELEMENTS, SMALL, Shrunk
from kcbench.infer.trace import trace

CANDIDATES = (1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 64, 127, 128, 129)
"""Sizes that are tried for every axis: those that CMP-03 asks for, and small ones that tell multiples apart."""
LARGEST_COST, LARGEST_ELEMENTS = 20 * GATE_COST, 8 * GATE_ELEMENTS
"""Largest cost of a forward at a size in the class; above it, the class ends for want of time."""


@dataclass(frozen=True)
class Layout:
    """How a problem's interface follows from named sizes."""

    axes: tuple[str, ...]
    """Names of the axes, those of the first input first."""
    shapes: tuple[tuple[Size, ...], ...]
    """One per input; ``()`` for what is no tensor."""
    init: tuple[Any, ...]
    """Constructor arguments as a contract writes them."""


def sized(problem: Problem, found: Shrunk) -> list[str]:
    """Names that count elements: they shape an input, are large, or were changed by shrinking."""
    names = []
    base = _dims(problem, found.gate)
    for name, value in problem.constants.items():
        moved = found.gate[name] != value or found.legacy[name] != value
        if moved or value > SMALL or _dims(problem, {**found.gate, name: found.gate[name] + 1}) != base:
            names.append(name)
    return names


def _dims(problem: Problem, sizes: Mapping[str, int]) -> list[int] | None:
    try:
        inputs, _ = problem.interface(sizes)
    except Exception:
        return None
    return [n for value in inputs if isinstance(value, Tensor) for n in (*value.shape, -1)]


def layout(problem: Problem, sizes: Mapping[str, int], names: Sequence[str]) -> Layout:
    """Express input shapes and constructor arguments in the named sizes.

    A number that moves with a size but is no product of sizes stays a number, and those sizes are no axes. Nor are those with
    which anything else moves, a length of a list or a scale, say.

    Args:
        problem: The problem.
        sizes: The gate sizes.
        names: Candidates for axes.
    """
    names = [name for name in names if _interface(problem, {**sizes, name: sizes[name] + 1}) is not None]
    while True:
        base = problem.interface(sizes)
        moved = {name: problem.interface({**sizes, name: sizes[name] + 1}) for name in names}
        (shapes, init), bad = _Expressions(sizes, base, moved).all()
        used = dict.fromkeys(factor for shape in shapes for size in shape for factor in _axis_names(size))
        used |= dict.fromkeys(_names_in(init))
        found = Layout(tuple(used), shapes, init)
        bad = bad or {name for name in names if not _holds(problem, found, sizes, name)}
        if not bad:
            return found
        names = [name for name in names if name not in bad]


def _holds(problem: Problem, found: Layout, sizes: Mapping[str, int], name: str) -> bool:
    """Whether the expressions are right at other sizes than those that they were found at: half of an axis is not, say."""
    for size in (sizes[name] + 1, sizes[name] + 2, 2 * sizes[name] + 3, (sizes[name] + 1) // 2, 1):
        changed = {**sizes, name: size}
        real = _interface(problem, changed)
        if real is None:
            continue
        inputs, init = real
        if [_shape(value) for value in inputs] != [tuple(evaluate_size(n, changed) for n in shape) for shape in found.shapes]:
            return False
        if repr(init) != repr([evaluate_argument(argument, changed) for argument in found.init]):
            return False
    return True


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value.shape) if isinstance(value, Tensor) else ()


def _interface(problem: Problem, sizes: Mapping[str, int]) -> Any:
    try:
        return problem.interface(sizes)
    except Exception:
        return None


def _axis_names(size: Size) -> list[str]:
    return [part for part in str(size).split("*") if not part.isdecimal()]


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _axis_names(value["axis"]) if "axis" in value else _names_in(value["tuple"])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _names_in(item)


class _Expressions:
    def __init__(self, sizes: Mapping[str, int], base: Any, moved: Mapping[str, Any]) -> None:
        self.sizes, self.base, self.moved = sizes, base, moved
        self.bad: set[str] = set()

    def all(self) -> tuple[tuple[tuple[tuple[Size, ...], ...], tuple[Any, ...]], set[str]]:
        inputs, init = self.base
        shapes: list[tuple[Size, ...]] = []
        for index, value in enumerate(inputs):
            if not isinstance(value, Tensor):
                shapes.append(())
                continue
            shapes.append(tuple(self.size(n, _reader(0, index, "shape", dim)) for dim, n in enumerate(value.shape)))
        arguments = tuple(self.argument(value, _reader(1, index)) for index, value in enumerate(init))
        return (tuple(shapes), arguments), self.bad

    def size(self, value: int, read: Callable[[Any], Any]) -> Size:
        """A number as a product of sizes, or as it is."""
        changed = {}
        for name, side in self.moved.items():
            try:
                other = read(side)
            except (IndexError, TypeError):
                other = None
            if other != value:
                changed[name] = other
        if not changed:
            return value
        factors = [name for name, other in changed.items() for _ in range(self.power(name, value, other))]
        product = math.prod(self.sizes[name] for name in factors)
        if product and value % product == 0:
            parts = ([str(value // product)] if value != product else []) + factors
            expression = "*".join(parts)
            if all(
                other == evaluate_size(expression, {**self.sizes, name: self.sizes[name] + 1}) for name, other in changed.items()
            ):
                return expression
        self.bad |= changed.keys()
        return value

    def power(self, name: str, value: int, other: Any) -> int:
        """How often a size is a factor of a number, from the number with the size one larger."""
        size = self.sizes[name]
        powers = (k for k in (1, 2, 3) if isinstance(other, int) and other * size**k == value * (size + 1) ** k)
        return next(powers, 1)

    def argument(self, value: Any, read: Callable[[Any], Any]) -> Any:
        if type(value) is int:
            size = self.size(value, read)
            return {"axis": size} if isinstance(size, str) else value
        if isinstance(value, (list, tuple)):
            items = [self.argument(item, _item(read, index)) for index, item in enumerate(value)]
            return {"tuple": items} if isinstance(value, tuple) else items
        return value


def _reader(*path: int | str) -> Callable[[Any], Any]:
    """Reads one number from an interface: indices, and names of attributes."""

    def read(side: Any) -> Any:
        for step in path:
            side = getattr(side, step) if isinstance(step, str) else side[step]
        return side

    return read


def _item(read: Callable[[Any], Any], index: int) -> Callable[[Any], Any]:
    return lambda side: read(side)[index]


def size_class(problem: Problem, found: Shrunk, name: str, *, seconds: float) -> dict[str, Any]:
    """The class of one axis, as a contract writes it: the sizes at which the model runs, the others at gate size.

    Args:
        problem: The problem.
        found: Its shrunk sizes.
        name: The axis.
        seconds: Time for all tries.
    """
    end = time.thread_time() + seconds
    gate, legacy = found.gate[name], found.legacy[name]
    entry: dict[str, Any] = {"gate": gate, "legacy": legacy}
    runs: dict[int, bool] = {gate: True, legacy: True}
    for size in CANDIDATES:
        if size in runs:
            continue
        if time.thread_time() > end:
            break
        verdict = _runs(problem, found, name, size)
        if verdict is not None:
            runs[size] = verdict
    tried = [size for size in CANDIDATES if size in runs]
    if 1 not in (gate, legacy) and runs.get(1) and [runs.get(size) for size in (2, 3)] == [False, False]:
        # One alone is broadcast where no other size fits (a mask of one token for a sequence of eight): it means something else.
        runs[1] = False
    accepted = sorted(size for size, good in runs.items() if good)
    costly = len(tried) < len(CANDIDATES)
    top = {"maximum": max(accepted)} if costly else {}
    if all(runs.values()):
        return {**entry, **top}
    least = min(accepted)
    if all(good == (size >= least) for size, good in runs.items()):
        return {**entry, **top, "minimum": least}
    step = math.gcd(*accepted)
    if step > 1 and all(good == (size % step == 0) for size, good in runs.items()):
        return {**entry, **top, "multiple_of": step, "minimum": step}
    return {**entry, "values": accepted, **({} if len(accepted) > 1 else {"varies": False})}


def _runs(problem: Problem, found: Shrunk, name: str, size: int) -> bool | None:
    """Whether the model runs at a size; None where that costs too much to be asked."""
    try:
        seen = trace(problem, {**found.gate, name: size}, seconds=4.0, real=found.real)
    except Exception:
        return False
    if any(0 in shape for shape in seen.outputs):
        return False
    return True if seen.cost <= LARGEST_COST and seen.elements <= LARGEST_ELEMENTS else None
