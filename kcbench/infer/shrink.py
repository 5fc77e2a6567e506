"""Smaller sizes that still stand for a problem: same operations, no dimension collapsed, no sum cut short.

Every size is halved until it is at most a cap; caps form a ladder, and a step that breaks the model is repaired by moving one
group of equal sizes to another rung, or a small count (of groups, of heads) down. Judged on the meta device, in milliseconds.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcbench.infer.problem import Problem
from kcbench.infer.trace import TooSlow, Trace, degradations, trace

LADDER = (512, 256, 128, 64, 48, 32, 24, 16, 12, 8)
GATE_COST, GATE_ELEMENTS = 2_000_000, 60_000
"""Largest cost of a forward at gate sizes: some hundred probes of ten evaluations each take seconds."""
LEGACY_COST, LEGACY_ELEMENTS = 100_000_000, 1_000_000
"""The same for the legacy check on a CPU."""
LARGEST_GATE_RUNG = 64
DEAR = 50_000_000
"""Cost above which sums may be cut shorter than eight values."""
SMALL = 8
"""Sizes up to this one are structure (kernel sizes, strides, heads): they are moved only to repair a step."""


@dataclass(frozen=True)
class Shrunk:
    """Sizes for the gates and for the legacy check on a CPU."""

    gate: dict[str, int]
    legacy: dict[str, int]
    original: Trace | None
    """None where tracing the problem's own sizes takes too long."""
    real: bool
    """Traces need real values."""
    how: str
    """``unchanged``, ``ladder <rung>`` or ``repaired <rung>``, with ``lowered`` where single sizes were brought down further."""


@dataclass(frozen=True)
class _Step:
    rung: int
    how: str
    sizes: dict[str, int]
    trace: Trace

    def fits(self, cost: int, elements: int) -> bool:
        return _fits(self.trace, cost, elements)


class CannotShrinkError(Exception):
    """No smaller sizes stand for the problem."""


def shrink(problem: Problem, *, seconds: float = 25.0) -> Shrunk:
    """Find smaller sizes.

    Args:
        problem: The problem.
        seconds: Time for all traces together.

    Raises:
        CannotShrinkError: None were found, with the reason of the last try.
    """
    return _Search(problem, time.thread_time() + seconds).run()


class _Search:
    def __init__(self, problem: Problem, end: float) -> None:
        self.problem, self.end = problem, end
        self.real = False
        self.least = 8
        self.original = self._original()
        self.reason = "no step of the ladder was tried"
        groups: dict[int, list[str]] = {}
        for name, value in problem.constants.items():
            if value > 1:
                groups.setdefault(value, []).append(name)
        self.groups = groups

    def _original(self) -> Trace | None:
        for real in (False, True):
            try:
                found = trace(self.problem, {}, seconds=min(8.0, self._left()), real=real)
            except TooSlow:
                return None
            except Exception:
                continue
            self.real = real
            return found
        return None

    def _left(self) -> float:
        return max(0.1, self.end - time.thread_time())

    def run(self) -> Shrunk:
        if self.original is not None and _fits(self.original, GATE_COST, GATE_ELEMENTS):
            same = dict(self.problem.constants)
            return Shrunk(same, same, self.original, self.real, "unchanged")
        found = self._ladder() or self._repaired()
        if not found:
            raise CannotShrinkError(self.reason)
        cheap = [step for step in found if step.rung <= LARGEST_GATE_RUNG and step.fits(GATE_COST, GATE_ELEMENTS)]
        gate = cheap[-1] if cheap else self._lowered(min(found, key=lambda step: step.trace.cost))
        if gate.trace.cost > DEAR:
            # A deep network that ends in a mean over a small image: four pixels have to do.
            self.least = 4
            gate = self._lowered(min([gate, *self._ladder()], key=lambda step: step.trace.cost))
        larger = [step for step in found if step.fits(LEGACY_COST, LEGACY_ELEMENTS)]
        legacy = larger[-1] if larger else gate
        return Shrunk(gate.sizes, legacy.sizes, self.original, self.real, gate.how)

    def _ladder(self) -> list[_Step]:
        """The rungs that hold, from the lowest up to the first that costs more than a legacy check may."""
        found: list[_Step] = []
        for rung in LADDER[::-1]:
            sizes = {name: value if value <= SMALL else halved(value, rung) for name, value in self.problem.constants.items()}
            seen = self.judge(sizes)
            if seen is not None:
                found.append(_Step(rung, f"ladder {rung}", sizes, seen))
                if not found[-1].fits(LEGACY_COST, LEGACY_ELEMENTS):
                    break
            if time.thread_time() > self.end:
                break
        return found

    def _repaired(self) -> list[_Step]:
        """The first rungs that hold once one or two groups have moved."""
        found: list[_Step] = []
        for rung in LADDER[::-1]:
            sizes = {name: value if value <= SMALL else halved(value, rung) for name, value in self.problem.constants.items()}
            for changed in self._repairs(sizes, rung):
                if time.thread_time() > self.end:
                    return found
                seen = self.judge(changed)
                if seen is not None and _fits(seen, LEGACY_COST, LEGACY_ELEMENTS * 8):
                    found.append(_Step(rung, f"repaired {rung}", changed, seen))
                    break
            if len(found) == 2:
                break
        return found

    def _lowered(self, step: _Step) -> _Step:
        """A rung that costs too much, with single sizes brought down as far as the model bears: the batch, then the largest."""
        for name in sorted(step.sizes, key=lambda name: ("batch" not in name, -step.sizes[name])):
            for size in (2, 3, 4, 6, 8, 12, 16, 24, 32, 33, 48, 64, 65, 96, 128):
                if size >= step.sizes[name] or self.problem.constants[name] <= SMALL:
                    break
                if step.fits(GATE_COST, GATE_ELEMENTS) or time.thread_time() > self.end + 20:
                    return step
                changed = {**step.sizes, name: size}
                seen = self.judge(changed)
                if seen is not None and seen.cost < step.trace.cost:
                    step = _Step(step.rung, f"{step.how}, lowered", changed, seen)
                    break
        return step

    def _repairs(self, sizes: dict[str, int], cap: int) -> Iterator[dict[str, int]]:
        """One group elsewhere; then two of them."""
        single = [change for value, names in self.groups.items() for change in self._moves(value, names, sizes, cap)]
        yield from ({**sizes, **change} for change in single)
        for one, two in itertools.islice(itertools.combinations(single, 2), 300):
            if not set(one) & set(two):
                yield {**sizes, **one, **two}

    def _moves(self, value: int, names: list[str], sizes: Mapping[str, int], cap: int) -> Iterator[dict[str, int]]:
        now = sizes[names[0]]
        options = [halved(value, rung) for rung in LADDER[::-1] if rung > cap] + [value]
        options += [n for n in (now // 2, now // 4, now // 8) if n >= 2]
        for option in dict.fromkeys(options):
            if option != now:
                yield dict.fromkeys(names, option)
        for name in names if len(names) > 1 else ():
            for option in dict.fromkeys(options):
                if option != now:
                    yield {name: option}

    def judge(self, sizes: Mapping[str, int]) -> Trace | None:
        """The trace at some sizes if they stand for the problem."""
        try:
            found = trace(self.problem, sizes, seconds=min(6.0, self._left()), real=self.real)
        except TooSlow:
            self.reason = "tracing takes too long"
            return None
        except Exception as error:
            text = str(error).strip().splitlines()
            self.reason = f"the model raises {type(error).__name__}: {text[0][:160] if text else ''}"
            return None
        if self.original is not None:
            for reason in degradations(self.original, found, self.least):
                self.reason = reason
                return None
        return found


def halved(value: int, cap: int) -> int:
    """A size halved, odd ones rounded up, until it is at most a cap."""
    while value > cap:
        value = (value + 1) // 2
    return value


def _fits(found: Trace, cost: int, elements: int) -> bool:
    return found.cost <= cost and found.elements <= elements


def distinct(problem: Problem, found: Shrunk, names: list[str], *, seconds: float = 10.0) -> Shrunk:
    """Move gate sizes of the same value apart, so that a transposition shows.

    Args:
        problem: The problem.
        found: Its shrunk sizes.
        names: The sizes to be told apart, in order of importance: later ones move first.
        seconds: Time for all tries.
    """
    end = time.thread_time() + seconds
    sizes = dict(found.gate)
    limit = 2 * GATE_COST
    for position, name in reversed(list(enumerate(names))):
        others = {sizes[other] for place, other in enumerate(names) if place != position}
        if sizes[name] not in others:
            continue
        for step in (1, 2, 3, -1, 4, 5, 8, 16):
            value = sizes[name] + step
            if value < 2 or value in others or time.thread_time() > end:
                continue
            changed = {**sizes, name: value}
            try:
                seen = trace(problem, changed, seconds=3.0, real=found.real)
            except Exception:
                continue
            if (found.original is None or not any(degradations(found.original, seen))) and seen.cost <= limit:
                sizes = changed
                break
    return Shrunk(sizes, found.legacy, found.original, found.real, found.how)
