"""Spread: how far from the line honest noise and the errors of broken kernels lie, in one gate and dtype."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kcbench.calibration.rows import REFUSED, Broken, Honest
from kcbench.numerics.statistics import percentile


@dataclass(frozen=True)
class Spread:
    """Ratios of error to tolerance in one gate and dtype, one a kernel; the line is at 1."""

    gate: str
    dtype: str
    honest: tuple[float, ...]
    """Of proven honest kernels, rising."""
    broken: tuple[float, ...]
    """Of faults that this gate refuses by a finite error in this dtype, rising."""

    @property
    def worst(self) -> float | None:
        """The largest ratio of an honest kernel."""
        return self.honest[-1] if self.honest else None

    @property
    def least(self) -> float | None:
        """The smallest ratio of a broken kernel."""
        return self.broken[0] if self.broken else None

    @property
    def honest_p99(self) -> float | None:
        return percentile(self.honest, 99) if self.honest else None

    @property
    def broken_p1(self) -> float | None:
        return percentile(self.broken, 1) if self.broken else None


def spreads(honest: Sequence[Honest], broken: Sequence[Broken]) -> tuple[Spread, ...]:
    """The spread of every gate and dtype in which anything was measured, sorted by gate and dtype.

    A fault whose largest finite error is below the line was refused for something else, such as a NaN, and is left out; so is a
    gate in which every honest kernel is exact and no broken one is measured, for it has no tolerance.
    """
    fair: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    faulty: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for kernel in honest:
        for gate, by_dtype in kernel.ratios.items() if kernel.judged else ():
            for dtype, ratio in by_dtype.items():
                fair[gate, dtype].append(ratio)
    for mutant in broken:
        for gate in mutant.gates if mutant.status == REFUSED else ():
            for dtype, ratio in mutant.ratios.get(gate, {}).items():
                if ratio > 1:
                    faulty[gate, dtype].append(ratio)
    found = (
        Spread(gate, dtype, tuple(sorted(fair[gate, dtype])), tuple(sorted(faulty[gate, dtype])))
        for gate, dtype in sorted({*fair, *faulty})
    )
    return tuple(spread for spread in found if spread.worst or spread.broken)
