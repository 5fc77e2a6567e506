"""Figures: what the store answers with. All text in them is untrusted and not escaped for any format."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from kcbench.report.gap import Gap, Share

if TYPE_CHECKING:
    import polars as pl

SAMPLE_NAME = "sample"
"""What the results that come with kcbench are called as a source."""
VERIFIED, SELF_REPORTED = "verified", "self-reported"
OUTCOMES = ("clean", "refused", "unloadable", "partial", "skipped", "error")
"""What a submission can come to: as in :mod:`kcbench.report.explain`, and ``partial`` where some gates were not asked."""


@dataclass(frozen=True)
class Facts:
    """What the store holds, and how fresh it is."""

    source: str
    """The folder, ``hf://ORG/NAME``, or :data:`SAMPLE_NAME` for the results that come with kcbench."""
    revision: str
    """The commit of a dataset on the Hub; empty otherwise."""
    read: datetime
    """When the source was last looked at."""
    changed: datetime
    """When something new was last found there."""
    newest: datetime | None
    """When the newest run began; None without runs."""
    runs: int
    submissions: int
    """Those that count: without the superseded ones."""
    verdicts: int
    """Answers of gates about them."""
    authors: int
    tasks: int
    superseded: int
    """Submissions of which a newer or a verified result is there."""
    synthetic: bool
    """The results were made up to test the leaderboard."""
    faults: tuple[str, ...]
    """What could not be used, one line each."""

    @property
    def is_sample(self) -> bool:
        """The results are those that come with kcbench."""
        return self.source == SAMPLE_NAME


@dataclass(frozen=True)
class Choices:
    """Values that exist for each filter, in the order in which to show them."""

    levels: tuple[str, ...]
    languages: tuple[str, ...]
    devices: tuple[str, ...]
    authors: tuple[str, ...]
    suites: tuple[str, ...]
    tiers: tuple[str, ...]
    tasks: tuple[str, ...]
    categories: tuple[str, ...]
    dtypes: tuple[str, ...]
    backends: tuple[str, ...]
    trust: tuple[str, ...]
    versions: tuple[str, ...]
    gates: tuple[str, ...]
    """``GUARD`` first, then the twelve, then any that this kcbench does not know."""
    codes: tuple[str, ...]
    """``GATE.code``, those that were found, in the order of their gates."""
    legacy: tuple[str, ...]
    """Legacy checks that scored something."""


@dataclass(frozen=True)
class Effect:
    """The gap, refused among accepted, under another set of gates or codes."""

    name: str
    """A gate, or ``GATE.code``."""
    without: Share
    """With the findings of this one set aside."""
    alone: Share
    """With only this one's findings."""


@dataclass(frozen=True)
class GapFigures:
    """The rigor gap of a choice of submissions. Every :class:`Gap` counts as :func:`kcbench.report.gap.measure` does."""

    gap: Gap
    partial: int
    """Left out: submissions that not all gates were asked about."""
    levels: tuple[tuple[str, Gap], ...]
    """By level; ``""`` for tasks without one."""
    gates: tuple[Effect, ...]
    """One for each gate that found something."""
    codes: tuple[Effect, ...]
    """One for each code that was found, the most frequent first."""


@dataclass(frozen=True)
class Page:
    """A part of a list of submissions."""

    rows: pl.DataFrame
    """Columns ``run``, ``submission``, ``author``, ``task``, ``language``, ``device``, ``backend``, ``outcome`` (of
    :data:`OUTCOMES`), ``legacy`` (boolean or null), ``codes`` (list), ``speedup``, ``created``, ``verified``; the newest run
    first."""
    total: int
    """How many there are in all."""
    offset: int


@dataclass(frozen=True)
class TaskFigures:
    """Who passes a task, and what fails there."""

    task: str
    gap: Gap
    authors: pl.DataFrame
    """The columns of ``Store.board``, for this task alone."""
    codes: pl.DataFrame
    """``code``, ``submissions``; the most frequent first."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    gap: Gap
    kernels: int
    tasks: int
    clean: Share
    """Clean among clean and refused."""
    speedup: float | None
    """Geometric mean over clean kernels that were timed."""
    timed: int


@dataclass(frozen=True)
class Comparison:
    """Two choices of submissions, side by side."""

    first: Side
    second: Side
    gates: pl.DataFrame
    """``gate``, ``first_failed``, ``first_judged``, ``first_share``, and the same for ``second``."""
    tasks: pl.DataFrame
    """Tasks that both have kernels for: ``task``, ``first_clean``, ``first_kernels``, ``second_clean``, ``second_kernels``."""
    only_first: int
    """Tasks of both that the first alone has a clean kernel for."""
    only_second: int
    both: int
    neither: int


@dataclass(frozen=True)
class SpeedFigures:
    """How fast kernels are. Timings of interpreted kernels are left out: they say nothing about the kernel."""

    kernels: int
    """Submissions with sample 0, or none: the denominator, as in :mod:`kcbench.report.fast_p`."""
    timed: int
    """Those of them that have a speedup over eager."""
    flagged: int
    """Those of them whose timing has a flag of :data:`kcbench.domain.timing.FLAGS`."""
    curve: pl.DataFrame
    """``p``, ``legacy`` and ``contract``: share of kernels that are correct by that verdict and more than p times as fast as
    eager. Empty where nothing was timed."""
    authors: pl.DataFrame
    """The points of a scatter plot: ``author``, ``speedup`` (geometric mean over clean kernels), ``clean_rate``, ``timed``."""
