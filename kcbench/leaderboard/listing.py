"""Listing: the chosen submissions one by one, a part at a time."""

from __future__ import annotations

import numpy as np
import polars as pl

from kcbench.leaderboard.choice import Choice
from kcbench.leaderboard.figures import OUTCOMES, Page

LONGEST = 1_000
"""The most rows of one part."""
_COLUMNS = ("run", "submission", "author", "task", "language", "device_name", "interpreted", "pattern", "speedup", "verified")


def listing(choice: Choice, *, gate: str, outcome: str, offset: int, limit: int) -> Page:
    """See :meth:`kcbench.leaderboard.store.Store.submissions`."""
    judged = choice.judged
    wanted = np.ones(len(judged.patterns), np.bool_)
    if outcome:
        wanted &= judged.outcomes == (OUTCOMES.index(outcome) if outcome in OUTCOMES else -1)
    if gate:
        low, high = judged.patterns.code_bits([gate])
        wanted &= ((judged.codes[0] & low) | (judged.codes[1] & high)) != 0
    found = np.flatnonzero(choice.where(wanted))
    if choice.chosen is not None:
        found = np.flatnonzero(choice.chosen)[found]
    offset = max(0, offset)
    part = found[offset : offset + min(max(0, limit), LONGEST)]
    rows = choice.rows(part, _COLUMNS)
    patterns = rows["pattern"].to_numpy()
    legacy = judged.patterns.legacy(judged.legacy)[patterns]
    runs = choice.index.run_rows[choice.index.column("run")[part]]
    return Page(
        rows.select(
            *("run", "submission", "author", "task", "language"),
            pl.col("device_name").alias("device"),
            pl.when("interpreted").then(pl.lit("interpreted")).otherwise(pl.lit("compiled")).alias("backend"),
            pl.Series("outcome", [OUTCOMES[place] for place in judged.outcomes[patterns]], pl.String),
            pl.Series("legacy", [None if said < 0 else bool(said) for said in legacy], pl.Boolean),
            pl.Series("codes", [judged.names(int(pattern)) for pattern in patterns], pl.List(pl.String)),
            "speedup",
            choice.index.runs["began"][runs].alias("created"),
            "verified",
        ),
        len(found),
        offset,
    )
