"""Choice: the submissions that filters let pass, and how they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from kcbench.leaderboard.figures import VERIFIED
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.index import Index
from kcbench.leaderboard.judged import Judged
from kcbench.leaderboard.patterns import Flags

Numbers = npt.NDArray[np.int64]
_BY_LIST = {
    "levels": "level",
    "languages": "language",
    "devices": "device_name",
    "authors": "author",
    "suites": "suite",
    "tiers": "sandbox",
    "tasks": "task",
    "categories": "category",
    "versions": "kcbench",
}
"""Filters whose values are the texts of a column."""


@dataclass(frozen=True)
class Choice:
    """A choice of rows of an index.

    Attributes:
        index: The index.
        judged: Its patterns under the filters.
        chosen: Which rows; None for all.
    """

    index: Index
    judged: Judged
    chosen: Flags | None

    @classmethod
    def of(cls, index: Index, filters: Filters) -> Choice:
        masks: list[Flags] = []
        for name, column in _BY_LIST.items():
            if values := getattr(filters, name):
                masks.append(_among(index, column, [text in values for text in index.lists[column]]))
        if filters.dtypes:
            asked = set(filters.dtypes)
            masks.append(_among(index, "task", [not asked.isdisjoint(text.split(",")) for text in index.lists["dtypes"]]))
        if filters.runs:
            masks.append(_among(index, "run", [text.startswith(filters.runs) for text in index.lists["run"]]))
        elif not index.column("latest").all():
            masks.append(index.column("latest"))
        if filters.backends:
            masks.append(_either(index.column("interpreted"), "interpreted" in filters.backends, "compiled" in filters.backends))
        if filters.trust:
            verified = VERIFIED in filters.trust
            masks.append(_either(index.column("verified"), verified, not verified or len(filters.trust) > 1))
        if filters.search:
            masks.append(_searched(index, filters.search.lower()))
        chosen = np.logical_and.reduce(masks) if masks else None
        return cls(index, Judged.of(index.patterns, filters), chosen)

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of the chosen rows."""
        whole = self.index.column(name)
        return whole if self.chosen is None else whole[self.chosen]

    def size(self, name: str) -> int:
        """How many texts the list of a column has."""
        return len(self.index.lists[name])

    @cached_property
    def pattern(self) -> npt.NDArray[np.uint32]:
        return self.column("pattern")

    @cached_property
    def total(self) -> int:
        return len(self.pattern)

    def where(self, flags: Flags) -> Flags:
        """What is said of patterns, of the chosen rows."""
        return flags[self.pattern]

    def narrowed(self, flags: Flags) -> Choice:
        """Those of the chosen rows with a flag."""
        if self.chosen is None:
            return Choice(self.index, self.judged, flags)
        chosen = self.chosen.copy()
        chosen[chosen] = flags
        return Choice(self.index, self.judged, chosen)

    def counts(self) -> Numbers:
        """How many rows have each pattern."""
        return np.bincount(self.pattern, minlength=len(self.judged.patterns))

    def counts_by(self, name: str) -> Numbers:
        """How many rows have each pattern, by the place in a short list; rows by columns."""
        return self.crossed(name, np.arange(len(self.judged.patterns)), len(self.judged.patterns))

    def crossed(self, name: str, classes: npt.NDArray[np.int64], number: int) -> Numbers:
        """How many rows there are by the place in a list and by the class of the pattern.

        Args:
            name: The list.
            classes: By pattern its class.
            number: How many classes there are.
        """
        keys = self.column(name).astype(np.int64) * number + classes[self.pattern]
        return np.bincount(keys, minlength=self.size(name) * number).reshape(self.size(name), number)

    def paired(self, first: str, second: str) -> Numbers:
        """How many rows there are by the places in two lists."""
        keys = self.column(first).astype(np.int64) * self.size(second) + self.column(second)
        return np.bincount(keys, minlength=self.size(first) * self.size(second)).reshape(self.size(first), self.size(second))

    def rows(self, places: npt.NDArray[np.int64], columns: Sequence[str]) -> pl.DataFrame:
        """Columns of some rows, with texts in the place of places."""
        found = self.index.rows.select(columns)[places]
        texts = [name for name in columns if name in self.index.lists]
        return found.with_columns(
            pl.Series(name, [self.index.lists[name][place] for place in found[name]], pl.String) for name in texts
        )


def _among(index: Index, column: str, wanted: Sequence[bool]) -> Flags:
    return np.asarray(np.array(wanted, np.bool_)[index.column(column)])


def _either(flags: Flags, yes: bool, no: bool) -> Flags:
    return (flags & yes) | (~flags & no)


def _searched(index: Index, text: str) -> Flags:
    """Rows whose id, author or task contains a text."""
    found = index.search_text.str.contains(text, literal=True).to_numpy()
    for column in ("author", "task"):
        found = found | _among(index, column, [text in value.lower() for value in index.lists[column]])
    return found
