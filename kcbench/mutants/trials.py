"""Random experiments inside a contract, by which a mutant is shown to be faulty.

They are probes, so that the oracle answers them, but none is a gate's: sizes, distributions and scales are drawn from the whole
class of the contract, and from the numbers in the mutant's own text.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from kcbench.domain.contract import Axis, Contract
from kcbench.domain.probe import Probe, Recipe, World
from kcbench.gates import PlanContext
from kcbench.gates.base import float_inputs, item_recipe, real_inputs
from kcbench.syntax import parse_module

BUDGET = 1 << 15
"""Most elements of one input."""
INTERPRETED_BUDGET = 1 << 9
LAYOUTS = ("transposed", "strided", "offset")
_TYPICAL = 160
_LONG = 4200
_CALLS = 16
_LARGEST_DIRECTED = 1100


@dataclass(frozen=True)
class Trial:
    """One experiment."""

    probe: Probe
    family: str
    """What the varied input holds."""
    poisoned: bool = False
    """Some inputs are not finite."""


def base_trials(context: PlanContext, *, seed: str, count: int) -> list[Trial]:
    """Trials for every mutant of a task.

    Args:
        context: What is known of the run: contract, dtypes, interpreted or not.
        seed: Of the draw.
        count: How many, beside some that are always made: gradients, an empty tensor, a long reduction, NaN and infinities in
            every input, inputs that are easily taken for one another.
    """
    draw = _Draw(context, random.Random(f"{seed}/{context.contract.task}/trials"), f"witness/{seed}")
    contract = context.contract
    trials = [draw.trial(family=list(FAMILIES)[index % len(FAMILIES)]) for index in range(count)]
    trials += [draw.trial(family="normal", layout=layout) for layout in LAYOUTS]
    for name, axis in contract.axes.items():
        if axis.varies and axis.minimum == 0:
            trials.append(draw.trial(family="normal", fixed={name: 0}))
        if axis.varies:
            trials.append(draw.trial(family="normal", fixed={name: _nearest(axis, axis.minimum or 1)}))
        if contract.reduction is not None and name in contract.reduction.length and axis.varies:
            long = _LONG if not context.interpreted else _LONG // 2
            trials.append(draw.trial(family="uniform", fixed={name: _nearest(axis, draw.generator.randint(1024, long))}))
    trials += [trial for name in float_inputs(contract) for trial in draw.poisoned(name)]
    trials += [trial for _ in range(2) for trial in draw.look_alikes()]
    trials += [draw.square(), draw.many_calls()]
    if contract.gradient is not None:
        trials += [draw.gradient() for _ in range(4)]
        for name, axis in contract.axes.items():
            if axis.varies:
                trials += [draw.gradient({name: _nearest(axis, size)}) for size in (1, 2 ** draw.generator.randint(3, 8), 300)]
    return trials


def directed_trials(context: PlanContext, source: str, original: str, *, seed: str, count: int) -> list[Trial]:
    """Trials at the numbers that a mutant's text holds: sizes at and around its integers, scales around its fractions.

    Args:
        context: As for :func:`base_trials`.
        source: The mutant's text.
        original: The honest kernel's text: numbers that are new come first.
        seed: Of the draw.
        count: At most so many.
    """
    draw = _Draw(context, random.Random(f"{seed}/directed"), f"witness/{seed}/directed")
    mine, theirs = _numbers(source), _numbers(original)
    trials = []
    for number in sorted(mine, key=lambda value: (value in theirs, value)):
        if isinstance(number, float) or number in (1, 10, 100):
            gains = [gain for gain in (number / 8, number * 8) if 1e-12 < gain <= 1e4]
            trials += [draw.trial(family="normal", gain=float(gain)) for gain in gains]
        if isinstance(number, int) and number <= _LARGEST_DIRECTED:
            for name, axis in context.contract.axes.items():
                for size in (number + 1, number, number - 1):
                    if axis.varies and size > 0 and axis.admits(size):
                        trials.append(draw.trial(family="normal", fixed={name: size}))
    return trials[:count]


def _numbers(source: str) -> set[int | float]:
    """Positive numbers in a text below 100,000."""
    values = (node.value for node in ast.walk(parse_module(source)) if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e5}


def _nearest(axis: Axis, size: int) -> int:
    """The size of an axis's class that is nearest from above, as far as there is one."""
    if axis.values:
        return min(axis.values, key=lambda value: abs(value - size))
    step = axis.multiple_of
    size = max(axis.minimum, math.ceil(size / step) * step)
    return min(size, axis.maximum // step * step) if axis.maximum is not None else size


class _Draw:
    def __init__(self, context: PlanContext, generator: random.Random, stream: str) -> None:
        self.context, self.generator, self.stream = context, generator, stream
        self.made = 0

    def trial(self, *, family: str, fixed: Mapping[str, int] | None = None, layout: str = "", gain: float | None = None) -> Trial:
        """A trial of a family, in a dtype of the contract: the first half of the time."""
        context, generator = self.context, self.generator
        contract = context.contract
        settled = bool(fixed) or gain is not None or generator.random() < 0.5
        dtype = context.dtype if settled else generator.choice(context.dtypes)
        axes = self._sizes(fixed or {})
        real = [name for name in real_inputs(contract) if contract.shape(contract.input(name), axes)]
        inputs = {item.name: item_recipe(contract, item.name) for item in contract.inputs}
        if family == "nonfinite":
            real = [name for name in float_inputs(contract) if not contract.input(name).structured]
        varied = generator.sample(real, generator.randint(1, len(real))) if real else []
        for name in varied:
            inputs[name] = self._recipe(family, name, axes, gain)
        layouts = dict.fromkeys(float_inputs(contract), layout) if layout else {}
        world = World(layouts=layouts, repeats=2 if context.interpreted else 3)
        poisoned = family == "nonfinite" and bool(varied)
        return Trial(self._probe(axes, dtype, inputs, world), f"{family} {layout}".strip(), poisoned)

    def poisoned(self, name: str) -> Iterator[Trial]:
        """One NaN and one infinity of either sign, in turn, at a random place of an input."""
        contract = self.context.contract
        for value in ("nan", "inf", "-inf"):
            axes = self._sizes({})
            shape = contract.shape(contract.input(name), axes)
            if shape and not contract.input(name).structured:
                at = [[self.generator.randrange(size) for size in shape]]
                inputs = {item.name: item_recipe(contract, item.name) for item in contract.inputs}
                inputs[name] = {"kind": "poison", "base": inputs[name], "at": at, "values": [value]}
                yield Trial(self._probe(axes, self.context.dtype, inputs, World()), "nonfinite", True)

    def look_alikes(self) -> Iterator[Trial]:
        """Inputs that share sizes, then all but one element, then all elements in another order: what a cache may confuse."""
        contract = self.context.contract
        several = self._same(self.generator.randint(5, 9))
        axes, real = self._sizes(several), real_inputs(contract)
        plain = {item.name: item_recipe(contract, item.name) for item in contract.inputs}
        plain |= {name: {"kind": "integers", "low": -4, "high": 4} for name in real}
        first = Trial(self._probe(axes, self.context.dtype, plain, World()), "integers")
        yield first
        yield Trial(self._probe(axes, self.context.dtype, plain, World()), "integers")
        for name in real:
            shape = contract.shape(contract.input(name), axes)
            if shape and all(shape):
                last = {"kind": "poison", "base": plain[name], "at": [[size - 1 for size in shape]], "values": [7.0]}
                moved = {"kind": "permuted", "base": plain[name], "dim": len(shape) - 1, "perm": self.stream}
                for recipe in (last, moved):
                    # The same stream: the values are those of the first one.
                    yield Trial(replace(first.probe, inputs={**plain, name: recipe}), "integers")

    def square(self) -> Trial:
        """All axes that vary at one size."""
        contract = self.context.contract
        inputs = {item.name: item_recipe(contract, item.name) for item in contract.inputs}
        size = self.generator.randint(2, 8 if len(contract.axes) > 3 else 24)
        return Trial(self._probe(self._sizes(self._same(size)), self.context.dtype, inputs, World()), "square")

    def many_calls(self) -> Trial:
        """More calls on one object than any other trial makes."""
        inputs = {item.name: item_recipe(self.context.contract, item.name) for item in self.context.contract.inputs}
        axes = self._sizes(self._same(self.generator.randint(5, 9)))
        return Trial(self._probe(axes, self.context.dtype, inputs, World(repeats=_CALLS)), "many calls")

    def _same(self, size: int) -> dict[str, int]:
        return {name: _nearest(axis, size) for name, axis in self.context.contract.axes.items() if axis.varies}

    def gradient(self, fixed: Mapping[str, int] | None = None) -> Trial:
        """A trial of the VJPs, away from kinks."""
        contract = self.context.contract
        gradient = contract.gradient
        inputs = {item.name: item_recipe(contract, item.name) for item in contract.inputs}
        if gradient is not None:
            for name in gradient.inputs:
                item = contract.input(name)
                if item.domain == "real":
                    gain = min(self.generator.choice((0.3, 1.0, 2.0, 5.0)), item.max_scale)
                    recipe: Recipe = {"kind": "away", "kinks": list(gradient.kinks)} if gradient.kinks else {"kind": "normal"}
                    inputs[name] = {**recipe, "gain": gain}
        probe = self._probe(self._sizes(fixed or {}), self.context.dtype, inputs, World())
        return Trial(replace(probe, gradient=True), "gradient")

    def _probe(self, axes: Mapping[str, int], dtype: str, inputs: Mapping[str, Recipe], world: World) -> Probe:
        self.made += 1
        label = f"{self.stream}/{self.made}"
        return Probe(label, axes, dtype, inputs, {} if self.context.redraw else None, label, world)

    def _sizes(self, fixed: Mapping[str, int]) -> dict[str, int]:
        """Random sizes of the class, made smaller until they fit the budget."""
        budget = INTERPRETED_BUDGET if self.context.interpreted else BUDGET
        contract = self.context.contract
        largest = _TYPICAL
        while True:
            axes = {**{name: self._size(axis, largest) for name, axis in contract.axes.items()}, **fixed}
            if largest <= 1 or _elements(contract, axes) <= budget:
                return axes
            largest = largest * 3 // 4

    def _size(self, axis: Axis, largest: int) -> int:
        if not axis.varies:
            return axis.gate
        if axis.values:
            return self.generator.choice(axis.values)
        smooth = int(math.exp(self.generator.uniform(0.0, math.log(largest + 1))))
        edge = 2 ** self.generator.randint(0, 8) + self.generator.choice((-1, 0, 1))
        size = smooth if self.generator.random() < 0.7 else min(edge, largest)
        return _nearest(axis, max(size, 1))

    def _recipe(self, family: str, name: str, axes: Mapping[str, int], gain: float | None) -> Recipe:
        contract = self.context.contract
        recipe = dict(FAMILIES[family](self.generator))
        if family == "nonfinite":
            shape = contract.shape(contract.input(name), axes)
            recipe["base"] = item_recipe(contract, name)
            recipe["at"] = [[self.generator.randrange(size) for size in shape] for _ in recipe["values"]] if all(shape) else []
            recipe["values"] = recipe["values"] if all(shape) else []
            return recipe
        wanted, top = gain if gain is not None else recipe.get("gain"), contract.input(name).max_scale
        if "mean" in recipe:  # A mean is a scale too.
            recipe["mean"] = max(-top, min(float(recipe["mean"]), top))
        return {**recipe, "gain": min(float(wanted), top)} if wanted is not None else recipe


def _elements(contract: Contract, axes: Mapping[str, int]) -> int:
    return max((math.prod(contract.shape(item, axes)) for item in contract.inputs), default=0)


def _poison(generator: random.Random) -> Recipe:
    values = generator.choice((["nan"], ["inf"], ["-inf"], ["inf", "-inf"], ["nan", "inf"], ["-inf", "-inf", "-inf"]))
    return {"kind": "poison", "values": values}


FAMILIES: Mapping[str, Callable[[random.Random], Recipe]] = {
    "normal": lambda g: {"kind": "normal"},
    "scaled": lambda g: {"kind": "normal", "gain": 10 ** g.uniform(-2.0, 2.5)},
    "nonfinite": _poison,
    "uniform": lambda g: {"kind": "uniform", "low": (low := g.uniform(-3.0, 1.0)), "high": low + g.uniform(0.5, 4.0)},
    "lognormal": lambda g: {"kind": "lognormal", "sigma": g.uniform(0.5, 2.0)},
    "large mean": lambda g: {"kind": "normal", "mean": g.uniform(20.0, 200.0)},
    "large negative mean": lambda g: {"kind": "normal", "mean": -g.uniform(90.0, 200.0)},
    "tiny": lambda g: {"kind": "normal", "gain": 10 ** g.uniform(-9.0, -3.0)},
    "sparse": lambda g: {"kind": "sparse", "density": g.uniform(0.02, 0.5)},
    "integers": lambda g: {"kind": "integers", "low": -(k := g.randint(1, 6)), "high": k},
    "subnormal": lambda g: {"kind": "subnormal"},
    "constant": lambda g: {"kind": "constant", "value": g.choice((0.0, 1.0, g.uniform(-3.0, 3.0)))},
    "ramp": lambda g: {"kind": "ramp", "low": g.uniform(-4.0, 0.0), "high": g.uniform(0.5, 4.0)},
}
"""What varied inputs hold, by name."""
