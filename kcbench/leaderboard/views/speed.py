"""Speed: how fast the kernels are that are right, and whether those that are fast are right."""

from __future__ import annotations

from kcbench.leaderboard.charts import curves, scatter
from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.store import Store
from kcbench.report.text import count

MEANING = (
    "fast_p is the share of all kernels that are correct and more than p times as fast as eager torch. The broken line takes the "
    "legacy check’s word for correct, the solid one the contract’s: between them lies speed that was bought with wrong answers."
)
P_SHOWN = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0)


def view(store: Store, asked: Asked) -> Page:
    """The page."""
    found = store.speed(asked.filters)
    points = found.authors.to_dicts()
    curve = found.curve.to_dicts()
    return Page(
        "speed.html.j2",
        "/speed",
        "Speed, of those that hold",
        MEANING,
        {
            "found": found,
            "curves": curves(curve) if curve else "",
            "scatter": scatter(points, asked.filters) if points else "",
            "rows": [row for row in curve if any(abs(row["p"] - p) < 1e-9 for p in P_SHOWN)],
            "points": points[:200],
        },
        said=count(found.timed, "timed kernel"),
    )
