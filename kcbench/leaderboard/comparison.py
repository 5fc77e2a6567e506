"""Comparison: two choices of submissions, side by side."""

from __future__ import annotations

import numpy as np
import polars as pl

from kcbench.leaderboard.choice import Choice
from kcbench.leaderboard.figures import Comparison, Side
from kcbench.leaderboard.rigor import gap_of
from kcbench.leaderboard.speed import mean_speedup
from kcbench.report.gap import Share

_GATES = ("failed", "judged", "share")


def comparison(first: Choice, second: Choice) -> Comparison:
    """See :meth:`kcbench.leaderboard.store.Store.compare`."""
    sides = _side(first), _side(second)
    parts = [
        pl.DataFrame(
            [(item.gate, item.failed, item.fail_share.n, item.fail_share.value) for item in side.gap.gates],
            schema={
                "gate": pl.String,
                **dict(zip((f"{name}_{part}" for part in _GATES), (pl.Int64, pl.Int64, pl.Float64), strict=True)),
            },
            orient="row",
        )
        for name, side in zip(("first", "second"), sides, strict=True)
    ]
    tasks = _tasks(first, "first").join(_tasks(second, "second"), on="task").sort("task")
    one, other = tasks["first_clean"] > 0, tasks["second_clean"] > 0
    return Comparison(
        *sides,
        gates=parts[0].join(parts[1], on="gate", how="full", coalesce=True, maintain_order="left_right"),
        tasks=tasks,
        only_first=int((one & ~other).sum()),
        only_second=int((other & ~one).sum()),
        both=int((one & other).sum()),
        neither=int((~one & ~other).sum()),
    )


def _side(choice: Choice) -> Side:
    counts, judged = choice.counts(), choice.judged
    clean, refused = (int(counts[flags].sum()) for flags in (judged.clean, judged.usable & judged.refused))
    speedup, timed = mean_speedup(choice)
    tasks = int(np.count_nonzero(np.bincount(choice.column("task"), minlength=choice.size("task"))))
    return Side(gap_of(choice), choice.total, tasks, Share.of(clean, clean + refused), speedup, timed)


def _tasks(choice: Choice, name: str) -> pl.DataFrame:
    """Tasks with kernels: how many there are, and how many of them are clean."""
    tasks, size = choice.column("task"), choice.size("task")
    kernels = np.bincount(tasks, minlength=size)
    clean = np.bincount(tasks[choice.where(choice.judged.clean)], minlength=size)
    columns = {"task": pl.Series(choice.index.lists["task"], dtype=pl.String), f"{name}_clean": clean, f"{name}_kernels": kernels}
    return pl.DataFrame(columns).filter(pl.col(f"{name}_kernels") > 0)
