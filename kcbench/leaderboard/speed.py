"""Speed: fast_p by the legacy verdict and by the contract's, and how speed and cleanliness go together.

Speedups are means over means, and the denominator is what :mod:`kcbench.report.fast_p` takes: all submissions with sample 0, or
without a sample.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from kcbench.leaderboard.board import board
from kcbench.leaderboard.choice import Choice
from kcbench.leaderboard.figures import SpeedFigures

P_VALUES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5, 10.0)
"""Bounds of the curve; a superset of KernelBench's."""


def speed_figures(choice: Choice) -> SpeedFigures:
    """See :meth:`kcbench.leaderboard.store.Store.speed`."""
    first, ratio = choice.column("first_sample"), choice.column("mean_ratio")
    timed = first & np.isfinite(ratio)
    kernels, number = int(first.sum()), int(timed.sum())
    verdicts = {"legacy": choice.judged.accepted, "contract": choice.judged.clean}
    shares = {name: _shares(first & choice.where(flags), ratio, kernels) for name, flags in verdicts.items()} if number else {}
    authors = board(choice, "author").filter(pl.col("speedup").is_not_null()).select("author", "speedup", "clean_rate", "timed")
    return SpeedFigures(
        kernels=kernels,
        timed=number,
        flagged=int((timed & choice.column("flagged")).sum()),
        curve=pl.DataFrame(
            {"p": P_VALUES if shares else [], **{name: shares.get(name, []) for name in verdicts}},
            schema=dict.fromkeys(("p", *verdicts), pl.Float64),
        ),
        authors=authors,
    )


def mean_speedup(choice: Choice) -> tuple[float | None, int]:
    """Geometric mean over clean kernels with sample 0 that were timed, and how many they are."""
    ratio = choice.column("mean_ratio")
    found = ratio[choice.column("first_sample") & np.isfinite(ratio) & choice.where(choice.judged.clean)]
    return (float(np.exp(np.log(found).mean())) if len(found) else None), len(found)


def _shares(correct: npt.NDArray[np.bool_], ratio: npt.NDArray[np.float64], kernels: int) -> list[float]:
    """fast_p at every bound; a correct kernel counts at 0 whether it was timed or not."""
    found = ratio[correct]
    bounds = [int((found > p).sum()) if p else len(found) for p in P_VALUES]
    return [number / kernels for number in bounds]
