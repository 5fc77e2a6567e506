"""Tally: how many variants of each task came to what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kcbench.ensemble.record import CLEAN, REFUSED, Record
from kcbench.ensemble.variant import TORCH, TRITON
from kcbench.report.proportion import Proportion

ALL = "all"
"""Stands for all tasks together."""


@dataclass(frozen=True)
class Tally:
    """Variants of one task. What the gates say counts where a variant is proven."""

    torch: int
    triton: int
    proven: int
    clean: int
    refused: int
    failed: int
    """Proven or not: what failed is kcbench."""
    worst: float
    """The largest ratio of error to tolerance that a gate measured; 0 where none did."""
    gate: str
    """That gate."""

    @property
    def refusals(self) -> Proportion:
        """How many of those that were judged are refused."""
        return Proportion(self.refused, self.refused + self.clean)


def tally(records: Iterable[Record]) -> dict[str, Tally]:
    """Count records.

    Returns:
        By task in alphabetical order, and :data:`ALL` last.
    """
    found = sorted(records, key=lambda record: record.variant.task)
    by_task: dict[str, list[Record]] = {}
    for record in found:
        by_task.setdefault(record.variant.task, []).append(record)
    return {name: _tally(group) for name, group in [*by_task.items(), (ALL, found)]}


def _tally(records: Sequence[Record]) -> Tally:
    languages = [record.variant.language for record in records]
    proven = [record for record in records if record.proof.proven]
    states = [record.state for record in proven]
    ratios = (item for record in proven for item in record.ruling.ratios.items())
    worst, gate = max(((max(by_dtype.values()), gate) for gate, by_dtype in ratios), default=(0.0, ""))
    return Tally(
        languages.count(TORCH),
        languages.count(TRITON),
        len(proven),
        states.count(CLEAN),
        states.count(REFUSED),
        sum(record.failed for record in records),
        worst,
        gate,
    )
