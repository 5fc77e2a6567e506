"""Store: the results of many runs, and the figures that the views of the leaderboard ask for.

Everything is counted as :mod:`kcbench.report.gap` and :mod:`kcbench.report.fast_p` count it. Beyond that:

* Of one submission (author, id, task, kind of device) the verified result counts, or else the newest; the others are superseded.
* A submission that some gates were not asked about is *partial*, and left out of every share.

An answer is kept until the results change. Nothing here raises for what a results file holds: see ``facts().faults``.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from kcbench import __version__
from kcbench.leaderboard import board as boards
from kcbench.leaderboard.aggregate import FORMAT, keys_of, load
from kcbench.leaderboard.cache import Cache
from kcbench.leaderboard.choice import Choice
from kcbench.leaderboard.comparison import comparison
from kcbench.leaderboard.detail import Detail, read_detail
from kcbench.leaderboard.feed import Feed, Found, open_feed
from kcbench.leaderboard.figures import (
    SELF_REPORTED,
    VERIFIED,
    Choices,
    Comparison,
    Facts,
    GapFigures,
    Page,
    SpeedFigures,
    TaskFigures,
)
from kcbench.leaderboard.filters import LEGACY_CHECKS, Filters
from kcbench.leaderboard.heat import heat
from kcbench.leaderboard.index import TABLES, Index, combine
from kcbench.leaderboard.kept import Kept
from kcbench.leaderboard.listing import listing
from kcbench.leaderboard.rigor import gap_figures, gap_of
from kcbench.leaderboard.speed import speed_figures
from kcbench.paths import default_cache
from kcbench.report.catalog import BY_ID

T = TypeVar("T")
MOST_ANSWERS, MOST_CHOICES = 256, 8
"""How many answers are kept, and how many choices, of which one of a million submissions takes five megabytes."""
MOST_FAULTS = 100


@dataclass(frozen=True)
class _State:
    """What was found at one time; replaced as a whole."""

    found: Found
    key: str
    index: Index
    faults: tuple[str, ...]
    changed: datetime
    answers: Kept = field(default_factory=lambda: Kept(MOST_ANSWERS))
    choices: Kept = field(default_factory=lambda: Kept(MOST_CHOICES))


class Store:
    """Results of many runs. Safe to ask from several threads; a refresh takes effect at once and as a whole.

    Args:
        feed: Where results come from.
        cache: Where aggregates are kept.

    Raises:
        KcbenchError: There is no such folder or dataset.
    """

    def __init__(self, feed: Feed, cache: Path) -> None:
        self._feed = feed
        self._cache = Cache(cache)
        self._refreshing = threading.Lock()
        self._read = datetime.now(UTC)
        self._state = self._load(feed.look(), None)

    @classmethod
    def open(cls, source: str | Path | None, cache: Path | None = None) -> Store:
        """Open a source.

        Args:
            source: A folder with results files, with run folders, or one run folder; ``hf://ORG/NAME[@REVISION]``; None for the
                sample that comes with kcbench.
            cache: Where aggregates are kept; ``leaderboard`` in kcbench's cache folder if not given.

        Raises:
            KcbenchError: There is no such folder or dataset.
        """
        place = cache or default_cache() / "leaderboard"
        return cls(open_feed(source, place), place)

    def refresh(self) -> bool:
        """Look whether the source has changed, and read it if so. Cheap where it has not.

        Returns:
            True where something changed.

        Raises:
            KcbenchError: The folder is gone. What was read before stays.
        """
        with self._refreshing:
            found = self._feed.look()
            self._read = datetime.now(UTC)
            before = self._state
            if found.files == before.found.files and found.revision == before.found.revision:
                if found.faults != before.found.faults:
                    self._state = self._load(found, before)
                return False
            self._state = self._load(found, before)
            return self._state.key != before.key

    def _load(self, found: Found, before: _State | None) -> _State:
        keys, unread = keys_of(found.files)
        used = [(file.name, key) for file, key in keys.items()]
        key = hashlib.sha256(repr((FORMAT, __version__, used)).encode()).hexdigest()
        faults = (*found.faults, *unread)
        if before is not None and before.key == key:
            return replace(before, found=found, faults=faults, answers=Kept(MOST_ANSWERS))
        tables = self._cache.get("indexes", key, TABLES, lambda: combine(load(keys, self._cache)).to_tables(), most=3)
        return _State(found, key, Index.from_tables(tables), faults, self._read)

    def _answer(self, key: Hashable, make: Callable[[Index], T]) -> T:
        """An answer that was given before, or a new one."""
        state = self._state
        answer: T = state.answers.get(key, lambda: make(state.index))
        return answer

    def _choice(self, filters: Filters) -> Choice:
        state = self._state
        choice: Choice = state.choices.get(filters, lambda: Choice.of(state.index, filters))
        return choice

    def facts(self) -> Facts:
        """What the store holds, and how fresh it is."""
        state = self._state
        counted: Facts = state.answers.get("facts", lambda: self._facts(state))
        return replace(counted, read=self._read)

    def _facts(self, state: _State) -> Facts:
        index = state.index
        latest = index.column("latest")
        asked = index.patterns.asked[:, None] >> np.arange(len(index.patterns.gates), dtype=np.uint64) & np.uint64(1)
        answers = asked.sum(axis=1)
        newest = index.runs["began"].drop_nulls().sort()
        faults = (*state.faults, *index.faults)
        more = (f"and {len(faults) - MOST_FAULTS:,} more",) if len(faults) > MOST_FAULTS else ()
        return Facts(
            source=self._feed.name,
            revision=state.found.revision,
            read=self._read,
            changed=state.changed,
            newest=newest[-1] if len(newest) else None,
            runs=len(index.runs),
            submissions=int(latest.sum()),
            verdicts=int(answers[index.column("pattern")[latest]].sum()),
            authors=len(index.lists["author"]),
            tasks=len(index.lists["task"]),
            superseded=int((~latest).sum()),
            synthetic=index.synthetic,
            faults=(*faults[:MOST_FAULTS], *more),
        )

    def choices(self) -> Choices:
        """Values that exist for each filter."""
        return self._answer("choices", _choices)

    def board(self, filters: Filters) -> pl.DataFrame:
        """A row for each author, the highest clean rate first.

        Returns:
            ``author``; ``kernels``, ``tasks``; ``clean``, ``refused``, ``left_out`` (harness errors, not run here, partial);
            ``clean_rate`` (clean of clean and refused) with ``clean_low`` and ``clean_high``; ``accepted`` and ``scored`` by the
            legacy check, ``legacy_rate``; ``gap`` (refused among accepted) with ``gap_low``, ``gap_high``; ``floor`` (refused by
            a tolerance-free finding, of all scored); ``fast_1`` (clean and faster than eager, of those with sample 0),
            ``speedup`` (geometric mean over clean ones), ``timed``, ``flagged``; ``devices``, ``tiers`` (lists); ``newest``
            (datetime); ``verified`` (how many of its kernels). Rates and means are null where nothing was counted. Intervals
            are Wilson's.
        """
        return self._answer(("board", filters), lambda _index: boards.board(self._choice(filters), "author"))

    def gap(self, filters: Filters) -> GapFigures:
        """The rigor gap, by level, and what each gate and code does to it."""
        return self._answer(("gap", filters), lambda _index: gap_figures(self._choice(filters)))

    def heat(self, filters: Filters, by: str) -> pl.DataFrame:
        """How often each gate fails.

        Args:
            filters: Which submissions.
            by: ``author`` or ``category``.

        Returns:
            That name, ``gate``, ``failed``, ``asked`` (passed or failed) and ``share`` (null where nothing was asked), a row for
            each pair, gates in their order; of authors the two hundred with the most submissions.

        Raises:
            ValueError: ``by`` is something else.
        """
        return self._answer(("heat", filters, by), lambda _index: heat(self._choice(filters), by))

    def submissions(self, filters: Filters, *, gate: str = "", outcome: str = "", offset: int = 0, limit: int = 100) -> Page:
        """A part of the submissions, the newest run first.

        Args:
            filters: Which submissions.
            gate: Only those that this gate, or this ``GATE.code``, refuses; empty for all.
            outcome: Only those that came to this; empty for all.
            offset: Where the part begins.
            limit: How many to give; at most a thousand are given.
        """
        return listing(self._choice(filters), gate=gate, outcome=outcome, offset=offset, limit=limit)

    def submission(self, run: str, submission: str) -> Detail | None:
        """Everything published about one submission; None where there is no such."""
        state = self._state
        return read_detail(state.index, {file.name: file for file in state.found.files}, run, submission)

    def tasks(self, filters: Filters) -> pl.DataFrame:
        """A row for each task that has submissions: ``task``, ``level``, ``category``, and the figures of :meth:`board`.

        ``authors`` is in the place of ``tasks``. Tasks are sorted by id.
        """

        def make(index: Index) -> pl.DataFrame:
            of_task = index.rows.select("task", "level", "category").unique("task").iter_rows()
            names = [(index.lists["task"][t], index.lists["level"][lv], index.lists["category"][c]) for t, lv, c in of_task]
            facts = pl.DataFrame(names, schema=dict.fromkeys(("task", "level", "category"), pl.String), orient="row")
            return facts.join(boards.board(self._choice(filters), "task"), on="task").sort("task")

        return self._answer(("tasks", filters), make)

    def task(self, task_id: str, filters: Filters | None = None) -> TaskFigures:
        """Who passes a task, and what fails there."""
        chosen = filters or Filters()

        def make(index: Index) -> TaskFigures:
            whole = self._choice(chosen)
            place = index.lists["task"].index(task_id) if task_id in index.lists["task"] else -1
            choice = whole.narrowed(whole.column("task") == place)
            gap = gap_of(choice)
            schema = {"code": pl.String, "submissions": pl.Int64}
            codes = pl.DataFrame([(item.code, item.results) for item in gap.codes], schema=schema, orient="row")
            return TaskFigures(task_id, gap, boards.board(choice, "author"), codes)

        return self._answer(("task", task_id, chosen), make)

    def compare(self, first: Filters, second: Filters) -> Comparison:
        """Two choices of submissions, side by side, each with its own gates and legacy check."""
        return self._answer(("compare", first, second), lambda _index: comparison(self._choice(first), self._choice(second)))

    def speed(self, filters: Filters) -> SpeedFigures:
        """How fast kernels are: fast_p by the legacy verdict and by the contract's, and speed against cleanliness."""
        return self._answer(("speed", filters), lambda _index: speed_figures(self._choice(filters)))


def _choices(index: Index) -> Choices:
    lists, patterns = index.lists, index.patterns
    low, high = (int(np.bitwise_or.reduce(bits, initial=0)) for bits in patterns.found())
    codes = [code for bit, code in enumerate(patterns.codes) if (low | high << 64) >> bit & 1]
    order = {gate: place for place, gate in enumerate(patterns.gates)}
    interpreted, verified = index.column("interpreted"), index.column("verified")
    dtypes = {dtype for text in lists["dtypes"] for dtype in text.split(",") if dtype}
    return Choices(
        levels=tuple(sorted(filter(None, lists["level"]), key=int)),
        languages=lists["language"],
        devices=lists["device_name"],
        authors=lists["author"],
        suites=lists["suite"],
        tiers=lists["sandbox"],
        tasks=lists["task"],
        categories=tuple(filter(None, lists["category"])),
        dtypes=tuple(sorted(dtypes, key=lambda dtype: (dtype != "float32", dtype))),
        backends=_present(("compiled", ~interpreted), ("interpreted", interpreted)),
        trust=_present((VERIFIED, verified), (SELF_REPORTED, ~verified)),
        versions=lists["kcbench"],
        gates=tuple(gate for gate in patterns.gates if gate in BY_ID or (patterns.asked & patterns.gate_bits([gate])).any()),
        codes=tuple(sorted(codes, key=lambda code: (order[code.partition(".")[0]], code))),
        legacy=tuple(check for check in LEGACY_CHECKS if (patterns.legacy(check) >= 0).any()),
    )


def _present(*named: tuple[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, flags in named if flags.any())
