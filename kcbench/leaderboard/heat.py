"""Heat: how often each gate fails, by author or by family of tasks."""

from __future__ import annotations

import numpy as np
import polars as pl

from kcbench.leaderboard.choice import Choice

MOST = 200
"""The most authors that are told apart; those with the most submissions."""
_SCHEMA = {"gate": pl.String, "failed": pl.Int64, "asked": pl.Int64, "share": pl.Float64}


def heat(choice: Choice, by: str) -> pl.DataFrame:
    """See :meth:`kcbench.leaderboard.store.Store.heat`."""
    if by not in ("author", "category"):
        raise ValueError(f"no heat by {by!r}")
    judged = choice.judged
    failed, passed = judged.failed, judged.passed
    failed, passed = (np.where(judged.partial, np.uint64(0), bits) for bits in (failed, passed))
    # Many patterns differ in codes only: submissions are counted by what is left of them.
    classes, which = np.unique(np.stack([failed, passed]), axis=1, return_inverse=True)
    numbers = choice.crossed(by, which.reshape(-1).astype(np.int64), classes.shape[1])
    totals = numbers.sum(axis=1)
    places = sorted(np.argsort(-totals, kind="stable")[:MOST])
    gates = [np.uint64(1 << bit) for bit in range(len(judged.patterns.gates))]
    fails = np.stack([(classes[0] & gate) != 0 for gate in gates], axis=1)
    asked = fails | np.stack([(classes[1] & gate) != 0 for gate in gates], axis=1)
    rows = [
        {
            by: choice.index.lists[by][place],
            "gate": gate,
            "failed": int(fail),
            "asked": int(ask),
            "share": fail / ask if ask else None,
        }
        for place in places
        if totals[place]
        for gate, fail, ask in zip(judged.patterns.gates, numbers[place] @ fails, numbers[place] @ asked, strict=True)
    ]
    return pl.DataFrame(rows, schema={by: pl.String, **_SCHEMA})
