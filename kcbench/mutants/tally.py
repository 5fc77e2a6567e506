"""Tally: how many mutants of each fault class came to what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kcbench.mutants.outcome import EQUIVALENT, REFUSED, SURVIVED, UNRUNNABLE, Outcome
from kcbench.numerics.statistics import Interval, clopper_pearson

ALL = "all"
"""Stands for all fault classes together."""


@dataclass(frozen=True)
class Tally:
    """Mutants of one fault class by outcome. Those that kcbench failed on count as made, and nowhere else."""

    made: int
    unrunnable: int
    equivalent: int
    refused: int
    survived: int

    @property
    def witnessed(self) -> int:
        """Those that are shown to be faulty, and were judged."""
        return self.refused + self.survived

    @property
    def detection(self) -> float | None:
        """The share of them that the gates refuse; None where there are none."""
        return self.refused / self.witnessed if self.witnessed else None

    @property
    def interval(self) -> Interval:
        """Clopper and Pearson's 95 % interval around that."""
        return clopper_pearson(self.refused, self.witnessed)


def tally(outcomes: Iterable[Outcome]) -> dict[str, Tally]:
    """Count outcomes.

    Args:
        outcomes: One for each mutant.

    Returns:
        By fault class in alphabetical order, and :data:`ALL` last.
    """
    counts: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    for outcome in outcomes:
        counts.setdefault(outcome.mutant.fault, Counter())[outcome.status] += 1
        total[outcome.status] += 1
    return {name: _tally(count) for name, count in [*sorted(counts.items()), (ALL, total)]}


def _tally(count: Counter[str]) -> Tally:
    return Tally(count.total(), count[UNRUNNABLE], count[EQUIVALENT], count[REFUSED], count[SURVIVED])
