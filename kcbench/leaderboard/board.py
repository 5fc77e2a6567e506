"""Board: the figures of every author, or of every task."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from kcbench.leaderboard.choice import Choice, Numbers
from kcbench.report.gap import Share

_FLAGS = ("clean", "refused", "left_out", "accepted", "scored", "gap", "floor")


def board(choice: Choice, by: str) -> pl.DataFrame:
    """The columns of :meth:`kcbench.leaderboard.store.Store.board`, the highest clean rate first.

    Args:
        choice: Which submissions.
        by: ``author`` or ``task``.
    """
    sums = _sums(choice, by)
    kernels = np.bincount(choice.column(by), minlength=choice.size(by))
    speed = _speed(choice, by)
    newest = _newest(choice, by)
    pairs = {name: choice.paired(by, name) for name in ("author", "task", "device_name", "sandbox") if name != by}
    verified = np.bincount(choice.column(by)[choice.column("verified")], minlength=choice.size(by))
    began = choice.index.runs["began"]
    rows = []
    for place in np.flatnonzero(kernels):
        clean, refused, left_out, accepted, scored, gap, floor = (int(number) for number in sums[place])
        rate, gap_rate = Share.of(clean, clean + refused), Share.of(gap, accepted)
        first, timed, flagged, fast, mean = (figures[place] for figures in speed)
        rows.append(
            {
                by: choice.index.lists[by][place],
                "kernels": int(kernels[place]),
                "authors" if by == "task" else "tasks": int((pairs["author" if by == "task" else "task"][place] > 0).sum()),
                "clean": clean,
                "refused": refused,
                "left_out": left_out,
                **_rate("clean", rate, "clean_rate"),
                "accepted": accepted,
                "scored": scored,
                "legacy_rate": accepted / scored if scored else None,
                **_rate("gap", gap_rate, "gap"),
                "floor": floor / scored if scored else None,
                "fast_1": float(fast / first) if timed else None,
                "speedup": float(mean) if np.isfinite(mean) else None,
                "timed": int(timed),
                "flagged": int(flagged),
                "devices": _names(choice, "device_name", pairs["device_name"][place]),
                "tiers": _names(choice, "sandbox", pairs["sandbox"][place]),
                "newest": began[int(newest[place])],
                "verified": int(verified[place]),
            }
        )
    found = pl.DataFrame(rows, schema=_schema(by))
    return found.sort("clean_rate", "clean", by, descending=[True, True, False], nulls_last=True)


def _schema(by: str) -> pl.Schema:
    whole = ("kernels", "authors" if by == "task" else "tasks", "clean", "refused", "left_out")
    return pl.Schema(
        {
            by: pl.String(),
            **dict.fromkeys(whole, pl.Int64()),
            **dict.fromkeys(("clean_rate", "clean_low", "clean_high"), pl.Float64()),
            **dict.fromkeys(("accepted", "scored"), pl.Int64()),
            **dict.fromkeys(("legacy_rate", "gap", "gap_low", "gap_high", "floor", "fast_1", "speedup"), pl.Float64()),
            **dict.fromkeys(("timed", "flagged"), pl.Int64()),
            **dict.fromkeys(("devices", "tiers"), pl.List(pl.String())),
            "newest": pl.Datetime("us", "UTC"),
            "verified": pl.Int64(),
        }
    )


def _rate(name: str, share: Share, title: str) -> dict[str, float | None]:
    counted = share.n > 0
    return {title: share.value, f"{name}_low": share.low if counted else None, f"{name}_high": share.high if counted else None}


def _names(choice: Choice, column: str, numbers: npt.NDArray[np.int64]) -> list[str]:
    return [choice.index.lists[column][place] for place in np.flatnonzero(numbers) if choice.index.lists[column][place]]


def _sums(choice: Choice, by: str) -> Numbers:
    """By place, how many submissions have each of :data:`_FLAGS`."""
    judged = choice.judged
    refused = judged.usable & judged.refused
    flags = (
        judged.clean,
        refused,
        ~judged.usable,
        judged.accepted,
        judged.counted,
        judged.accepted & judged.refused,
        judged.floor,
    )
    bits = sum(flag.astype(np.int64) << bit for bit, flag in enumerate(flags))
    # Of the combinations of seven flags few exist: submissions are counted by them, and then the flags.
    classes, which = np.unique(bits, return_inverse=True)
    numbers = choice.crossed(by, which.astype(np.int64), len(classes))
    return np.stack([numbers[:, (classes >> bit & 1) == 1].sum(axis=1) for bit in range(len(_FLAGS))], axis=1)


def _speed(choice: Choice, by: str) -> tuple[npt.NDArray[np.float64], ...]:
    """By place: submissions with sample 0; of them the timed, the flagged, the clean and faster than eager; the mean speedup."""
    first, ratio, size = choice.column("first_sample"), choice.column("mean_ratio"), choice.size(by)
    places, timed = choice.column(by), np.isfinite(ratio) & first
    clean = choice.where(choice.judged.clean) & timed
    logs = np.bincount(places[clean], weights=np.log(ratio[clean]), minlength=size)
    number = np.bincount(places[clean], minlength=size)
    mean = np.exp(np.divide(logs, number, out=np.full(size, np.nan), where=number > 0))
    sums = [
        np.bincount(places[flags], minlength=size).astype(np.float64)
        for flags in (first, timed, timed & choice.column("flagged"), clean & (ratio > 1))
    ]
    return (*sums, mean)


def _newest(choice: Choice, by: str) -> npt.NDArray[np.int64]:
    """By place the place of the newest run in the table of runs: rows are sorted, so that it is the run of the first row."""
    places = choice.column(by)
    newest = np.zeros(choice.size(by), np.int64)
    newest[places[::-1]] = choice.index.run_rows[choice.column("run")][::-1]
    return newest
