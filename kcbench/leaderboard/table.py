"""Table: the columns of a view's table, which of them are shown, and in which order its rows come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcbench.leaderboard.links import Asked

if TYPE_CHECKING:
    import polars as pl

ROWS = 100
"""Rows of one page of a table."""


@dataclass(frozen=True)
class Column:
    """One column."""

    key: str
    """What it is sorted by, a column of the store's table; empty where it cannot be sorted."""
    name: str
    number: bool = False
    """It holds figures: aligned to the right, and sorted from the largest first."""
    about: str = ""
    shown: bool = True
    """Shown unless a reader says otherwise."""


@dataclass(frozen=True)
class Ordered:
    """One page of a table's rows."""

    rows: tuple[dict[str, object], ...]
    total: int
    offset: int
    sorted: str
    down: bool


def chosen(columns: Sequence[Column], asked: Asked) -> tuple[Column, ...]:
    """The columns to show: those that the option ``cols`` names, or the usual ones. The first is always there."""
    names = {name for name in asked.option("cols").split(",") if name}
    found = [column for column in columns[1:] if (column.key in names if names else column.shown)]
    return (columns[0], *(found or [column for column in columns[1:] if column.shown]))


def ordered(table: pl.DataFrame, columns: Sequence[Column], asked: Asked, *, by: str, down: bool = True) -> Ordered:
    """Sort a table as the reader asks, and cut a page out of it.

    Args:
        table: All rows.
        columns: What may be sorted by.
        asked: Options ``sort``, ``order`` (``up`` or ``down``) and ``offset``.
        by: The column that it is sorted by unless asked otherwise.
        down: Whether that is from the largest first.
    """
    key = asked.choice("sort", [column.key for column in columns if column.key], by)
    falling = asked.choice("order", ("up", "down"), "down" if down else "up") == "down"
    sortable = table.columns
    if key in sortable and table.height:
        import polars as pl

        first = pl.col(key)
        if table.schema[key] == pl.List(pl.String):
            first = first.list.join(", ")
        last = sortable[0]
        table = table.sort([first, pl.col(last)], descending=[falling, False], nulls_last=True, maintain_order=True)
    offset = asked.number("offset", 0, max(0, table.height - 1))
    return Ordered(tuple(table.slice(offset, ROWS).to_dicts()), table.height, offset, key, falling)
