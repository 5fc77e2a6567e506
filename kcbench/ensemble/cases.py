"""Cases of a proof: random sizes, dtypes and families of inputs inside a contract."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kcbench.domain.contract import Axis, Contract
from kcbench.domain.probe import Probe, Recipe, World
from kcbench.gates.base import float_inputs, ordinary_inputs, real_inputs

VALUE, EXACT, POISON, GRADIENT = "value", "exact", "poison", "gradient"

FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "normal": {"kind": "normal"},
    "uniform": {"kind": "uniform"},
    "offset": {"kind": "normal", "mean": 10.0},
    "small": {"kind": "normal", "gain": 1e-2},
    "large": {"kind": "normal", "gain": 30.0},
    "far": {"kind": "normal", "mean": -100.0},
    "lognormal": {"kind": "lognormal"},
    "heavy": {"kind": "lognormal", "sigma": 1.5},
    "sparse": {"kind": "sparse", "density": 0.05},
}
"""Distributions for inputs whose domain is ``real``."""

NARROW_FAMILIES = ("normal", "uniform")
"""Those that 16-bit dtypes are tried on."""

DRAWS = 3
"""Cases of each family; their errors are pooled, since a single small result may be exact by luck."""
INTERPRETED_DRAWS = 2
INTERPRETED_FAMILIES = ("normal", "uniform", "far", "lognormal")
"""The same on Triton's interpreter, where an element costs a hundred times as much."""


@dataclass(frozen=True)
class Case:
    """One call, and what is asked of it."""

    kind: str
    """``value``, ``exact`` (integers), ``poison`` or ``gradient``."""
    group: str
    """Cases of one group have their errors pooled."""
    probe: Probe


def cases(contract: Contract, *, seed: str, interpreted: bool) -> Iterator[Case]:
    """All cases for a contract, the same for every variant of a task.

    Args:
        contract: The contract.
        seed: What sizes and values follow from.
        interpreted: Keep to sizes and dtypes that Triton's interpreter can do.
    """
    draw = _Draw(contract, seed, interpreted)
    first, *others = draw.dtypes
    real = real_inputs(contract)
    for family in (INTERPRETED_FAMILIES if interpreted else FAMILIES) if real else ("normal",):
        for dtype in (first, *(others if family in NARROW_FAMILIES else ())):
            for index in range(draw.draws):
                yield draw.case(VALUE, f"{family}, {dtype}", dtype, FAMILIES[family], index)
    yield draw.case(VALUE, f"strided, {first}", first, FAMILIES["normal"], 0, layout="strided")
    yield from draw.least(first)
    for dtype in draw.dtypes:
        yield from draw.long(dtype)
    reduction = contract.reduction
    if real and reduction is not None and reduction.exact and reduction.linear:
        for dtype in draw.dtypes:
            yield draw.case(EXACT, f"integers, {dtype}", dtype, {"kind": "integers", "low": -2, "high": 2}, 0)
    for dtype in draw.dtypes[:2]:
        yield from draw.poisons(dtype)
    if contract.gradient is not None:
        for index in range(draw.draws):
            kinks = {"kind": "away", "kinks": list(contract.gradient.kinks)} if contract.gradient.kinks else {"kind": "normal"}
            yield draw.case(GRADIENT, f"gradient, {first}", first, kinks, index)


class _Draw:
    def __init__(self, contract: Contract, seed: str, interpreted: bool) -> None:
        self.contract, self.interpreted = contract, interpreted
        self.budget, self.longest = (1 << 7, 24) if interpreted else (1 << 14, 200)
        self.draws = INTERPRETED_DRAWS if interpreted else DRAWS
        self.random = random.Random(f"{seed}/{contract.task}")
        # The interpreter cuts values to bfloat16 instead of rounding them.
        self.dtypes = tuple(dtype for dtype in contract.dtypes if not (interpreted and dtype == "bfloat16"))

    def case(
        self,
        kind: str,
        group: str,
        dtype: str,
        recipe: Recipe,
        index: int,
        *,
        sizes: Mapping[str, int] | None = None,
        layout: str = "contiguous",
    ) -> Case:
        inputs = {**ordinary_inputs(self.contract), **{name: self._limited(name, recipe) for name in real_inputs(self.contract)}}
        axes = self.contract.sizes(**(self._sizes() if sizes is None else sizes))
        return Case(kind, group, self._probe(group, dtype, axes, inputs, index, layout=layout, gradient=kind == GRADIENT))

    def least(self, dtype: str) -> Iterator[Case]:
        """All axes at one, and each that may be empty."""
        varying = {name: axis for name, axis in self.contract.axes.items() if axis.varies and not axis.values}
        least = {name: max(axis.minimum, 1) for name, axis in varying.items()}
        for sizes in ({}, *({name: 0} for name, axis in varying.items() if axis.minimum == 0)):
            group = f"{', '.join(f'{name}=0' for name in sizes) or 'least'}, {dtype}"
            yield self.case(VALUE, group, dtype, FAMILIES["normal"], 0, sizes=sizes or least)

    def long(self, dtype: str) -> Iterator[Case]:
        """Positive values along each reduced axis at a length of thousands, where a narrow accumulator stands still."""
        reduction = self.contract.reduction
        for name in reduction.length if reduction else ():
            axis = self.contract.axes.get(str(name))
            size = 400 if self.interpreted else 2500
            if axis is None or not axis.varies or not axis.admits(size):
                continue
            sizes = {other: max(axis.minimum, 1) for other, axis in self.contract.axes.items() if axis.varies and not axis.values}
            sizes[str(name)] = size
            # Beside axes of fixed sizes, such as those of heads, there is no room for such a length.
            fixed = any(other.varies and other.values for other in self.contract.axes.values())
            if self._elements(sizes) <= 8 * self.budget and not fixed:
                yield self.case(VALUE, f"long {name}, {dtype}", dtype, FAMILIES["uniform"], 0, sizes=sizes)

    def poisons(self, dtype: str) -> Iterator[Case]:
        """NaN and both infinities at random places of each floating input."""
        for name in float_inputs(self.contract):
            shape = self.contract.shape(self.contract.input(name), sizes := self.contract.sizes(**self._sizes()))
            for index, value in enumerate(("nan", "inf", "-inf")):
                # Kernels treat the tail in a way of its own.
                cell = [size - 1 if index else self.random.randrange(size) for size in shape]
                inputs = ordinary_inputs(self.contract)
                inputs[name] = {"kind": "poison", "base": inputs[name], "at": [cell], "values": [value]}
                group = f"{value} in {name}, {dtype}"
                yield Case(POISON, group, self._probe(group, dtype, sizes, inputs, index))

    def _probe(
        self,
        group: str,
        dtype: str,
        axes: Mapping[str, int],
        inputs: Mapping[str, Recipe],
        index: int,
        *,
        layout: str = "contiguous",
        gradient: bool = False,
    ) -> Probe:
        world = World(layouts=dict.fromkeys(float_inputs(self.contract), layout)) if layout != "contiguous" else World()
        return Probe(group, axes, dtype, inputs, {}, f"ensemble/{group}/{index}", world, gradient)

    def _limited(self, name: str, recipe: Recipe) -> Recipe:
        top = self.contract.input(name).max_scale
        limited = {**recipe, "gain": min(float(recipe["gain"]), top)} if "gain" in recipe else dict(recipe)
        # A mean is a scale too.
        return {**limited, "mean": max(-top, min(float(recipe["mean"]), top))} if "mean" in recipe else limited

    def _sizes(self) -> dict[str, int]:
        """Random sizes of at least one, spread over orders of magnitude, that keep every input affordable."""
        while True:
            sizes = {name: self._size(axis) for name, axis in self.contract.axes.items() if axis.varies}
            if self._elements(sizes) <= self.budget:
                return sizes
            # Fixed sizes may leave no room at all: then the gate sizes are as good as any.
            if self._elements({n: max(a.minimum, 1) for n, a in self.contract.axes.items() if not a.values}) > self.budget:
                return {}

    def _size(self, axis: Axis) -> int:
        if axis.values:
            return self.random.choice([value for value in axis.values if value <= 64] or list(axis.values))
        low = max(axis.minimum, 1)
        size = round(math.exp(self.random.uniform(math.log(low), math.log(self.longest))))
        return min(max(size - size % axis.multiple_of, low), axis.maximum or size)

    def _elements(self, sizes: Mapping[str, int]) -> int:
        axes = self.contract.sizes(**sizes)
        return max(math.prod(self.contract.shape(item, axes)) for item in self.contract.inputs)
