"""Rigor: the gap of a choice of submissions, by level, and what every gate and code does to it."""

from __future__ import annotations

import numpy as np

from kcbench.leaderboard.choice import Choice
from kcbench.leaderboard.figures import GapFigures
from kcbench.leaderboard.tally import Tally
from kcbench.report.gap import Gap


def gap_of(choice: Choice) -> Gap:
    """The gap of all chosen submissions."""
    return Tally(choice.judged, choice.counts()).gap(_sizes(choice))


def gap_figures(choice: Choice) -> GapFigures:
    """See :meth:`kcbench.leaderboard.store.Store.gap`."""
    judged, sizes = choice.judged, _sizes(choice)
    by_level = choice.counts_by("level")
    tally = Tally(judged, by_level.sum(axis=0))
    gap = tally.gap(sizes)
    levels = [(name, Tally(judged, numbers)) for name, numbers in zip(choice.index.lists["level"], by_level, strict=True)]
    return GapFigures(
        gap=gap,
        partial=tally.partial,
        levels=tuple((name, part.gap(sizes)) for name, part in levels if part.counts.any()),
        gates=tally.effects([item.gate for item in gap.gates if item.failed]),
        codes=tally.effects([item.code for item in gap.codes]),
    )


def _sizes(choice: Choice) -> tuple[str, ...]:
    """Sizes at which the legacy check ran, of submissions that it scored."""
    seen = np.bincount(choice.column("legacy_size")[choice.where(choice.judged.counted)], minlength=choice.size("legacy_size"))
    return tuple(sorted(size for size, number in zip(choice.index.lists["legacy_size"], seen, strict=True) if number and size))
