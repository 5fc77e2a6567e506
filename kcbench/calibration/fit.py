"""Fit: which values of a free constant let all honest kernels through, and leave each gate what it sees."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kcbench.calibration.rows import REFUSED, Broken, Honest, Ratios
from kcbench.numerics.statistics import percentile
from kcbench.report.proportion import Proportion

HONEST_MARGIN = 1.25
"""How far above what the worst honest kernel needs a constant has to be, as a factor."""
LOST = 1.0
"""Percentage of the faults that a gate sees in a dtype by a bound, which it may not see any more."""
FEWEST = 50
"""Faults of which such a percentage means something."""

_INPUTS = frozenset(("CMP-01.value", "CMP-01.zeros", "CMP-01.input-blind"))
_SHAPES = frozenset(("CMP-03.shape", "CMP-03.batch", "CMP-03.stride"))
_VALUE = _INPUTS | _SHAPES | {"CMP-02.forward", "ORD-03.cancellation", "PRC-01.value"}
BOUNDS: Mapping[str, frozenset[str]] = {
    "kappa": _VALUE | {"CMP-02.vjp", "ORD-01.order"},
    "eager_factor": _VALUE,
    "coherent": _INPUTS,
    "any_order": frozenset(("ORD-03.cancellation",)),
    "transform_slack": frozenset(("PRC-02.accumulator",)),
}
"""By constant: the codes that come of a bound which it multiplies, and nothing else."""


@dataclass(frozen=True)
class Fit:
    """What a study admits for one constant.

    A ratio is an error over what is allowed at the present value, so that value times ratio is what the constant would have to be
    for the error to lie on the line. A row gives one ratio for each gate and dtype, over all its checks, also those in which
    another grant was in force; this makes the interval too narrow, never too wide. Each constant is moved alone.
    """

    constant: str
    value: float
    """At present."""
    honest: int
    """Kernels with a ratio in a gate that the constant acts in."""
    worst: float | None
    """Their largest ratio."""
    broken: int
    """Faults that a gate which it acts in sees by such a bound."""
    least: float | None
    """The ratio that all but one in a hundred of them reach, in the gate and dtype where this is least."""

    @property
    def low(self) -> float | None:
        """The least admissible value."""
        return None if self.worst is None else HONEST_MARGIN * self.worst * self.value

    @property
    def high(self) -> float | None:
        """The largest admissible value."""
        return None if self.least is None else self.least * self.value

    @property
    def loosest(self) -> float | None:
        """The largest admissible power of the square root of two; None where there is none, or one end is not known."""
        if self.low is None or self.high is None:
            return None
        # The little that is added lets a power of two that is the end itself count, whatever the rounding of the logarithm.
        found = 2.0 ** (math.floor(2 * math.log2(self.high) + 1e-9) / 2)
        return found if found >= self.low else None

    @property
    def empty(self) -> bool:
        """Whether no value at all meets both conditions."""
        return self.low is not None and self.high is not None and self.low > self.high

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"not measured: {'no honest kernel' if self.low is None else 'too few faults'}"
        if self.empty:
            return "empty: no value meets both conditions"
        if self.loosest is None:
            return "too narrow: no power of the square root of two lies inside"
        place = "below" if self.value < self.low else "above" if self.value > self.high else "inside"
        return f"the present value lies {place}"


def fit(values: Mapping[str, float], honest: Sequence[Honest], broken: Sequence[Broken]) -> tuple[Fit, ...]:
    """What a study admits for each constant.

    Args:
        values: The constants that the study was made with.
        honest: Its variants.
        broken: Its mutants.
    """
    return tuple(_fit(name, value, honest, broken) for name, value in values.items())


def _fit(name: str, value: float, honest: Sequence[Honest], broken: Sequence[Broken]) -> Fit:
    fair, seen = honest_ratios(name, honest), [mutant for mutant in broken if _seen_by(name, mutant)]
    cells: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for mutant in seen:
        for gate in _seen_by(name, mutant):
            for dtype, ratio in mutant.ratios.get(gate, {}).items():
                if ratio > 1:
                    cells[gate, dtype].append(ratio)
    first = [percentile(sorted(ratios), LOST) for ratios in cells.values() if len(ratios) >= FEWEST]
    return Fit(name, value, len(fair), max(fair, default=None), len(seen), min(first, default=None))


def _seen_by(constant: str, mutant: Broken) -> set[str]:
    """The gates that refuse a fault by a bound which the constant multiplies."""
    refused = mutant.codes if mutant.status == REFUSED else ()
    return {code.partition(".")[0] for code in refused if code in BOUNDS[constant]}


def honest_ratios(constant: str, honest: Iterable[Honest]) -> list[float]:
    """The largest ratio of each proven kernel in the gates that a constant acts in."""
    found = (_largest(constant, kernel.ratios) for kernel in honest if kernel.judged)
    return [ratio for ratio in found if ratio is not None]


def broken_ratios(constant: str, broken: Iterable[Broken]) -> list[float]:
    """The largest ratio of each fault that nothing but this bound refuses: where that is passed, it goes unseen.

    A fault without a finite ratio above 1 is refused for a class or a shape, whatever the constant.
    """
    mine = (mutant for mutant in broken if mutant.status == REFUSED and set(mutant.codes) <= BOUNDS[constant])
    found = (_largest(constant, mutant.ratios) for mutant in mine)
    return [ratio for ratio in found if ratio is not None and ratio > 1]


def _largest(constant: str, ratios: Ratios) -> float | None:
    gates = {code.partition(".")[0] for code in BOUNDS[constant]}
    return max((ratio for gate in gates for ratio in ratios.get(gate, {}).values()), default=None)


@dataclass(frozen=True)
class Trial:
    """What a value that was fitted on one half of the tasks does on the other."""

    constant: str
    value: float
    alarms: Proportion
    """Honest kernels that it would refuse."""
    missed: Proportion
    """Faults, among those that this bound alone sees, that it would let through."""


def try_out(
    values: Mapping[str, float], honest: Sequence[Honest], broken: Sequence[Broken], away: Collection[str]
) -> tuple[Trial, ...]:
    """Fit on the kernels of some tasks, and try the loosest defensible values on the others; constants without one are left out.

    Args:
        values: The constants that the study was made with.
        honest: Its variants.
        broken: Its mutants.
        away: The tasks that are not fitted on.
    """
    fitted = fit(values, [item for item in honest if item.task not in away], [item for item in broken if item.task not in away])
    fair, faulty = ([item for item in honest if item.task in away], [item for item in broken if item.task in away])
    if not fair and not faulty:
        return ()
    return tuple(
        Trial(
            item.constant,
            value,
            Proportion.of(ratio * item.value > value for ratio in honest_ratios(item.constant, fair)),
            Proportion.of(ratio * item.value <= value for ratio in broken_ratios(item.constant, faulty)),
        )
        for item in fitted
        if (value := item.loosest) is not None
    )
