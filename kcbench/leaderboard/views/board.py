"""Board: a row for each author, whose kernels hold and whose only seem to."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.store import Store
from kcbench.leaderboard.table import ROWS, Column, chosen, ordered
from kcbench.report.gap import Share
from kcbench.report.summary import HOW_TO_READ
from kcbench.report.text import clean, count

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    Column("author", "Author or model"),
    Column("kernels", "Kernels", True, "Submissions that count"),
    Column("tasks", "Tasks", True, "Tasks that they are for", shown=False),
    Column("clean_rate", "Contract-clean", True, "No gate refuses it; of those that were judged in full"),
    Column("legacy_rate", "Legacy accepts", True, "Accepted by the published check"),
    Column("gap", "Rigor gap", True, "Refused by the contract, of those that the legacy check accepts"),
    Column("floor", "Floor", True, "Refused by a finding that rests on no tolerance, of all scored"),
    Column("fast_1", "Honest fast₁", True, "Clean and faster than eager torch"),
    Column("speedup", "Speedup", True, "Geometric mean over clean kernels, eager torch = 1"),
    Column("devices", "Device"),
    Column("tiers", "Sandbox", about="How kernels were confined", shown=False),
    Column("left_out", "Left out", True, "Harness errors, not run here, or not asked by all gates", shown=False),
    Column("timed", "Timed", True, "Clean kernels with a time", shown=False),
    Column("flagged", "Flagged", True, "Times that something speaks against", shown=False),
    Column("newest", "Newest", True, "When its newest run began"),
    Column("verified", "Trust", about="Who ran the kernels"),
)
MEANING = (
    "Each row is an author or model. Contract-clean is the share of kernels that no question of the contract refuses; the rigor "
    "gap is the share that it refuses of what today’s check accepts. Small figures are 95 % intervals: rows whose intervals "
    "overlap are not told apart."
)
_TEXT_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def view(store: Store, asked: Asked) -> Page:
    """The page."""
    table = store.board(asked.filters)
    found = ordered(table, COLUMNS, asked, by="clean_rate")
    return Page(
        "board.html.j2",
        "/",
        "Which kernels hold?",
        MEANING,
        {
            "columns": chosen(COLUMNS, asked),
            "all_columns": COLUMNS[1:],
            "found": found,
            "limit": ROWS,
            "overall": overall(table),
            "how_to_read": HOW_TO_READ,
        },
        said=count(table.height, "author"),
    )


def overall(table: pl.DataFrame) -> dict[str, Share]:
    """The shares of all rows together: ``legacy``, ``clean`` and ``gap``. A submission is in one row."""
    sums = {name: int(table[name].sum()) for name in ("scored", "accepted", "clean", "refused")}
    gap = round(float((table["gap"] * table["accepted"]).sum()))  # Each row's product is a whole number of kernels.
    return {
        "legacy": Share.of(sums["accepted"], sums["scored"]),
        "clean": Share.of(sums["clean"], sums["clean"] + sums["refused"]),
        "gap": Share.of(gap, sums["accepted"]),
    }


def download(store: Store, filters: Filters, form: str) -> bytes:
    """The whole board as a file.

    Args:
        store: The results.
        filters: Which of them.
        form: ``csv`` or ``parquet``.
    """
    table = store.board(filters)
    buffer = io.BytesIO()
    if form == "parquet":
        table.write_parquet(buffer)
    else:
        for_spreadsheets(table).write_csv(buffer)
    return buffer.getvalue()


def for_spreadsheets(table: pl.DataFrame) -> pl.DataFrame:
    """The table with lists as text, and without text that a spreadsheet would take for a formula."""
    import polars as pl

    lists = [name for name, kind in table.schema.items() if kind == pl.List(pl.String)]
    flat = table.with_columns(pl.col(name).list.join("; ") for name in lists)
    texts = [name for name, kind in flat.schema.items() if kind == pl.String]
    return flat.with_columns(pl.col(name).map_elements(_defused, return_dtype=pl.String) for name in texts)


def _defused(text: str) -> str:
    shown = clean(text)
    return f"'{shown}" if shown.startswith(_TEXT_FORMULA) else shown
