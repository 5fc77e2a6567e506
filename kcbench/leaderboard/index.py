"""Index: all submissions of a results folder, one row each, with every text that repeats as the place in a list.

It is made from the aggregates of the files, and kept in the cache as a whole: a million submissions are read in a second.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from kcbench.domain.schema import read_json
from kcbench.errors import KcbenchError
from kcbench.leaderboard.aggregate import RUN_FACTS, Aggregates
from kcbench.leaderboard.figures import SELF_REPORTED, VERIFIED
from kcbench.leaderboard.files import ResultsFile
from kcbench.leaderboard.patterns import COLUMNS, Patterns
from kcbench.paths import data_root
from kcbench.report.text import count

SYNTHETIC = "synthetic"
"""Value of ``dataset`` in rows that were made up to test the leaderboard."""
LISTED = ("task", "author", "language", "suite", "legacy_size", "run", "level", "category", "device_name", "sandbox", "kcbench")
"""Columns of the index that hold places in a list."""
TABLES = ("rows", "runs", "patterns", "lists")
_KEY = ("author", "submission", "task", "device")
"""What makes two results those of one submission."""


@dataclass(frozen=True)
class Index:
    """All submissions, the newest run first.

    Attributes:
        rows: :data:`LISTED`; ``submission``; ``pattern`` (place in ``patterns``); ``interpreted``,
            ``first_sample``, ``flagged``, ``verified``, ``latest`` (not superseded); ``speedup`` (medians), ``mean_ratio``;
            ``file`` and ``row`` of its submission row, null where there is none.
        runs: A row for each run: ``run``, the columns of :data:`RUN_FACTS`, ``verified``, ``began`` (datetime, UTC).
        patterns: What gates and legacy checks say.
        lists: By column the texts that its places stand for; ``dtypes``: by place of the task those that its contract declares,
            joined by commas.
        files: Names of the files that hold submission rows.
        faults: What could not be used, one line each.
        synthetic: The rows were made up.
    """

    rows: pl.DataFrame
    runs: pl.DataFrame
    patterns: Patterns
    lists: Mapping[str, tuple[str, ...]]
    files: tuple[str, ...]
    faults: tuple[str, ...]
    synthetic: bool

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column other than a text, one entry for each row; NaN where a figure is missing."""
        if name not in self._columns:
            self._columns[name] = self.rows[name].to_numpy()
        return self._columns[name]

    @functools.cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    @functools.cached_property
    def run_rows(self) -> npt.NDArray[np.int64]:
        """By the place of a run in its list, its row in the table of runs."""
        rows = {run: row for row, run in enumerate(self.runs["run"])}
        return np.array([rows[run] for run in self.lists["run"]], np.int64)

    @functools.cached_property
    def search_text(self) -> pl.Series:
        """Ids in lower case."""
        return self.rows["submission"].str.to_lowercase()

    def to_tables(self) -> dict[str, pl.DataFrame]:
        """What :meth:`from_tables` makes the same index of."""
        lists: dict[str, Sequence[str]] = {
            **self.lists,
            "gates": self.patterns.gates,
            "codes": self.patterns.codes,
            "files": self.files,
            "faults": self.faults,
            "synthetic": ["yes"] if self.synthetic else [],
        }
        texts = pl.DataFrame({"name": list(lists), "values": [json.dumps(list(values)) for values in lists.values()]})
        return {"rows": self.rows, "runs": self.runs, "patterns": self.patterns.table, "lists": texts}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pl.DataFrame]) -> Index:
        """The index that was kept."""
        lists = {name: tuple(json.loads(text)) for name, text in tables["lists"].iter_rows()}
        patterns = Patterns(lists.pop("gates"), lists.pop("codes"), tables["patterns"].select(COLUMNS))
        files, faults, synthetic = (lists.pop(name) for name in ("files", "faults", "synthetic"))
        return cls(tables["rows"], tables["runs"], patterns, lists, files, faults, bool(synthetic))


def combine(aggregates: Aggregates) -> Index:
    """The index of all files."""
    faults = list(aggregates.faults)
    rows = _rows(aggregates.results, faults)
    rows, patterns = _with_patterns(rows, faults)
    runs = _runs(rows)
    rows = rows.drop(*(name for name in RUN_FACTS if name != "device")).join(
        runs.select("run", "began", "device_name", "sandbox", "kcbench"), on="run", how="left"
    )
    rows, files = _with_details(rows, aggregates.details, faults)
    rows = rows.sort("verified", "began", "run", descending=True, nulls_last=True, maintain_order=True)
    rows = rows.with_columns(latest=pl.struct(_KEY).is_first_distinct())
    rows = rows.sort("began", "run", "submission", descending=[True, False, False], nulls_last=True)
    names = rows["task"].unique().cast(pl.String).sort()
    tasks = pl.DataFrame([_task_facts(task) for task in names], schema=_TASK_TYPES).with_columns(
        pl.col("task").cast(pl.Categorical)
    )
    rows = rows.join(tasks.drop("dtypes"), on="task", how="left", maintain_order="left")
    listed, lists = [], {"dtypes": tuple(tasks["dtypes"])}
    for name in LISTED:
        values = rows[name].unique().cast(pl.String).sort()
        lists[name] = tuple(values)
        listed.append(pl.col(name).cast(pl.Enum(values)).to_physical().cast(pl.UInt32))
    rows = rows.with_columns(*listed).drop("began", "device")
    synthetic = not runs.is_empty() and bool((runs["dataset"] == SYNTHETIC).all())
    return Index(rows, runs, patterns, lists, files, tuple(faults), synthetic)


_ROW_TYPES: dict[str, Any] = {
    **dict.fromkeys(("run", "task", "author", "language", "suite", "legacy_size", *RUN_FACTS), pl.Categorical),
    "submission": pl.String,
    **dict.fromkeys(("interpreted", "first_sample"), pl.Boolean),
    "pattern": pl.Categorical,
    "verified": pl.Boolean,
}
_DETAIL_TYPES: dict[str, Any] = {
    "run": pl.Categorical,
    "submission": pl.String,
    "row": pl.UInt32,
    **dict.fromkeys(("speedup", "mean_ratio"), pl.Float64),
    **dict.fromkeys(("flagged", "verified"), pl.Boolean),
    "file": pl.UInt32,
}
_TASK_TYPES = dict.fromkeys(("task", "level", "category", "dtypes"), pl.String)


def _rows(results: Mapping[ResultsFile, pl.DataFrame], faults: list[str]) -> pl.DataFrame:
    """The rows of all files, none twice, without made-up ones among real ones."""
    frames = [frame.with_columns(verified=pl.lit(file.verified)) for file, frame in results.items()]
    frames.sort(key=lambda frame: not frame["verified"].any())
    rows = pl.concat([pl.DataFrame(schema=_ROW_TYPES), *(frame.select(list(_ROW_TYPES)) for frame in frames)])
    made_up = rows["dataset"] == SYNTHETIC
    if made_up.any() and not made_up.all():
        faults.append(f"{count(int(made_up.sum()), 'synthetic submission')} beside real ones: left out")
        rows = rows.filter(~made_up)
    named = rows.filter(pl.col("run").cast(pl.String).str.contains("^[0-9a-f]{64}$") & (pl.col("submission") != ""))
    if len(named) < len(rows):
        faults.append(f"{count(len(rows) - len(named), 'submission')} set aside: without a run, or without an id")
    once = named.unique(["run", "submission"], keep="first", maintain_order=True)
    if len(once) < len(named):
        faults.append(f"{count(len(named) - len(once), 'submission')} met a second time: counted once")
    return once


def _with_patterns(rows: pl.DataFrame, faults: list[str]) -> tuple[pl.DataFrame, Patterns]:
    texts = rows["pattern"].unique().sort()
    patterns, which, wrong = Patterns.parse(texts.cast(pl.String).to_list())
    known = pl.DataFrame({"pattern": texts, "place": pl.Series(which, dtype=pl.UInt32)})
    joined = rows.join(known, on="pattern", how="left", maintain_order="left").drop("pattern").rename({"place": "pattern"})
    usable = joined.filter(pl.col("pattern").is_not_null())
    if len(usable) < len(joined):
        faults.append(f"{count(len(joined) - len(usable), 'submission')} set aside: {'; '.join(wrong[:5])}")
    return usable, patterns


def _runs(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each run; what its submissions do not agree about is as the first one says."""
    runs = rows.select("run", *RUN_FACTS, "verified").unique("run", keep="first", maintain_order=True)
    runs = runs.with_columns(pl.col(*RUN_FACTS).cast(pl.String))
    began = pl.Series("began", [_moment(text) for text in runs["created"]], dtype=pl.Datetime("us", "UTC"))
    return runs.with_columns(began)


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _with_details(
    rows: pl.DataFrame, details: Mapping[ResultsFile, pl.DataFrame], faults: list[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Rows with their timing, and where their submission row is. A verified result takes them from verified files only."""
    frames = [
        frame.with_columns(verified=pl.lit(file.verified), file=pl.lit(place, pl.UInt32))
        for place, (file, frame) in enumerate(details.items())
    ]
    found = pl.concat([pl.DataFrame(schema=_DETAIL_TYPES), *(frame.select(list(_DETAIL_TYPES)) for frame in frames)])
    key = ["verified", "run", "submission"]
    found = found.unique(key, keep="first", maintain_order=True)
    joined = rows.join(found, on=key, how="left", maintain_order="left")
    lost = len(found.join(rows, on=["run", "submission"], how="anti"))
    if lost:
        faults.append(f"{count(lost, 'submission row')} without result rows: not counted")
    return joined.with_columns(pl.col("flagged").fill_null(False)), tuple(file.name for file in details)


def _task_facts(task: str) -> dict[str, str]:
    level = re.fullmatch(r"level(\d{1,3})", task.partition("/")[0])
    known = _contract(task)
    dtypes = ",".join(known.get("dtypes", ()))
    return {"task": task, "level": level[1] if level else "", "category": known.get("category", ""), "dtypes": dtypes}


@functools.cache
def _contract(task: str) -> dict[str, Any]:
    """The contract of a task that came with kcbench, or nothing; the id is compared before it becomes a path."""
    if task not in _own_tasks():
        return {}
    try:
        return dict(read_json(data_root() / "tasks" / task / "contract.json"))
    except KcbenchError:
        return {}


@functools.cache
def _own_tasks() -> frozenset[str]:
    from kcbench.tasks import list_tasks

    return frozenset(list_tasks())


def trust(verified: bool) -> str:
    """The word for whether a result was made again by the maintainers."""
    return VERIFIED if verified else SELF_REPORTED
