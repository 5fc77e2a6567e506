"""Tally: how many mutants of each fault class came to what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kcbench.mutants.outcome import EQUIVALENT, REFUSED, SURVIVED, UNRUNNABLE, Outcome
from kcbench.report.proportion import Proportion

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
    def detection(self) -> Proportion:
        """How many the gates refuse of those that are shown to be faulty, and were judged."""
        return Proportion(self.refused, self.refused + self.survived)


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
