"""Comparison: kcbench beside other published checks, on the same kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcbench.calibration.rows import CLEAN, REFUSED, Broken, Honest
from kcbench.numerics.statistics import mcnemar
from kcbench.report.proportion import Proportion


@dataclass(frozen=True)
class Comparison:
    """One check and kcbench."""

    checker: str
    alarms: Proportion
    """Proven honest kernels that the check refuses."""
    detection: Proportion
    """Witnessed faults that the check refuses."""
    kcbench_alarms: Proportion
    """The same of kcbench, on the same kernels."""
    kcbench_detection: Proportion
    only_kcbench: int
    """Witnessed faults that kcbench refuses and the check accepts."""
    only_checker: int

    @property
    def p_value(self) -> float:
        """McNemar's exact test on the faults on which the two disagree."""
        return mcnemar(self.only_kcbench, self.only_checker)


def comparisons(honest: Sequence[Honest], broken: Sequence[Broken]) -> tuple[Comparison, ...]:
    """Every check that was asked, in the order in which the rows name them."""
    fair = [kernel for kernel in honest if kernel.judged]
    faulty = [mutant for mutant in broken if mutant.witnessed]
    asked = [*(kernel.checkers for kernel in fair), *(mutant.checkers for mutant in faulty)]
    names = dict.fromkeys(name for answers in asked for name in answers)
    return tuple(_compare(name, fair, faulty) for name in names)


def _compare(name: str, honest: Sequence[Honest], broken: Sequence[Broken]) -> Comparison:
    alarms = [(not kernel.checkers[name], kernel.state != CLEAN) for kernel in honest if name in kernel.checkers]
    found = [(not mutant.checkers[name], mutant.status == REFUSED) for mutant in broken if name in mutant.checkers]
    return Comparison(
        name,
        alarms=Proportion.of(theirs for theirs, _ in alarms),
        detection=Proportion.of(theirs for theirs, _ in found),
        kcbench_alarms=Proportion.of(ours for _, ours in alarms),
        kcbench_detection=Proportion.of(ours for _, ours in found),
        only_kcbench=sum(ours and not theirs for theirs, ours in found),
        only_checker=sum(theirs and not ours for theirs, ours in found),
    )
