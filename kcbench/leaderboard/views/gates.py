"""Gates: how often each gate fails, by author and by family of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.links import Asked, link, narrowed
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.store import Store
from kcbench.report.catalog import gate_info
from kcbench.report.text import count, percent

if TYPE_CHECKING:
    import polars as pl

MOST = 60
"""Rows of one map: those with the most answers."""
MEANING = (
    "How often each gate refuses, of the kernels that it could judge. Choose a cell to see which kernels these are. Blue is no "
    "failure at all, orange the stronger the more; the figures say the same."
)
_STEPS = ((0.0, "h0"), (0.1, "h1"), (1 / 3, "h2"), (2 / 3, "h3"), (1.0, "h4"))


@dataclass(frozen=True)
class Cell:
    """One gate for one row."""

    style: str
    text: str
    counted: str
    url: str
    """Where its kernels are; empty where there are none."""
    said: str


@dataclass(frozen=True)
class Heat:
    """One map."""

    title: str
    noun: str
    gates: tuple[Any, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    left_out: int


def view(store: Store, asked: Asked) -> Page:
    """The page."""
    maps = (
        heat(store.heat(asked.filters, "author"), "author", "authors", "By author", asked.filters),
        heat(store.heat(asked.filters, "category"), "category", "categories", "By family of tasks", asked.filters),
    )
    return Page("gates.html.j2", "/gates", "What breaks", MEANING, {"maps": maps}, said=count(len(maps[0].rows), "author"))


def heat(table: pl.DataFrame, by: str, field: str, title: str, filters: Filters) -> Heat:
    """A map of a table of :meth:`Store.heat`.

    Args:
        table: A row for each pair of name and gate.
        by: The column of the name.
        field: The filter that chooses such a name.
        title: Of the map.
        filters: What the table is about.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    gates: dict[str, None] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(row[by] or "", {})[row["gate"]] = row
        gates[row["gate"]] = None
    weights = {name: sum(item["asked"] for item in cells.values()) for name, cells in found.items()}
    names = sorted(found, key=lambda name: (-weights[name], name))[:MOST]
    rows = tuple((name, _cells(found[name], list(gates), narrowed(filters, **{field: (name,)}), name)) for name in names)
    return Heat(title, by, tuple(gate_info(gate) for gate in gates), rows, len(found) - len(names))


def _cells(known: dict[str, dict[str, Any]], gates: Sequence[str], filters: Filters, name: str) -> tuple[Cell, ...]:
    return tuple(_cell(known.get(gate), gate, filters, name) for gate in gates)


def _cell(row: dict[str, Any] | None, gate: str, filters: Filters, name: str) -> Cell:
    if row is None or not row["asked"]:
        return Cell("h-none", "–", "", "", f"{gate}: not judged")
    failed, asked = row["failed"], row["asked"]
    style = next(style for limit, style in _STEPS if failed / asked <= limit)
    url = link("/submissions", filters, gate=gate) if failed else ""
    said = f"{gate} refuses {failed} of {asked} of {name or 'no name'}"
    return Cell(style, percent(failed / asked), f"{failed}/{asked}", url, said)
