"""Rate: how many of some kernels were refused."""

from __future__ import annotations

from dataclasses import dataclass

from kcbench.numerics.statistics import Interval, clopper_pearson


@dataclass(frozen=True)
class Rate:
    """A count out of a total."""

    count: int
    total: int

    @property
    def share(self) -> float | None:
        """None where there is nothing to count."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> Interval:
        """Clopper and Pearson's 95 % interval around it."""
        return clopper_pearson(self.count, self.total)
