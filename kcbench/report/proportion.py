"""Proportion: k of n, with an interval that covers with at least 95 %."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from kcbench.numerics.statistics import Interval, clopper_pearson
from kcbench.report.text import percent


@dataclass(frozen=True)
class Proportion:
    """k of n."""

    k: int
    n: int

    @classmethod
    def of(cls, answers: Iterable[bool]) -> Self:
        """The share of yes among answers."""
        found = list(answers)
        return cls(sum(found), len(found))

    @property
    def share(self) -> float | None:
        """The quotient k / n, or None where nothing was counted."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        """Clopper and Pearson's 95 % interval (:func:`kcbench.numerics.statistics.clopper_pearson`)."""
        return clopper_pearson(self.k, self.n)

    def __str__(self) -> str:
        """The share with its interval: ``97.3 % (93.1-99.3)``; a dash where there is none."""
        if self.share is None:
            return "-"
        low, high = (percent(end).removesuffix("\u00a0%") for end in self.interval)
        return f"{percent(self.share)} ({low}-{high})"
