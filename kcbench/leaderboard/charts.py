"""Charts: the two plots that the leaderboard has and the report has not. A table beside each has the same figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.links import link
from kcbench.report.plots import element, picture
from kcbench.report.text import number, one_line, percent

MOST_POINTS = 200
_LEFT, _TOP, _WIDE, _HIGH = 46, 12, 400, 220
_SIZE = (_LEFT + _WIDE + 14, _TOP + _HIGH + 26)


def curves(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """fast_p by the legacy verdict and by the contract's.

    Args:
        rows: ``p``, ``legacy`` and ``contract``, by rising p.
    """
    most = max((row["p"] for row in rows), default=1.0) or 1.0
    parts = _shares()
    for p in _ticks(most):
        x = _LEFT + _WIDE * p / most
        parts.append(element("text", f"{p:g}×", x=x, y=_TOP + _HIGH + 18, class_="small middle faint"))
    for name, style in (("legacy", "legacy"), ("contract", "honest")):
        points = [
            f"{_LEFT + _WIDE * row['p'] / most:.1f} {_TOP + _HIGH * (1 - row[name]):.1f}" for row in rows if row[name] is not None
        ]
        if points:
            parts.append(element("path", d=f"M{'L'.join(points)}", class_=f"curve {style}"))
    said = "; ".join(
        f"p = {row['p']:g}: legacy {_percent(row['legacy'])}, contract {_percent(row['contract'])}"
        for row in rows[:: max(1, len(rows) // 8)]
    )
    return picture("curves", *_SIZE, "fast_p by the legacy check and by the contract", said, *parts)


def scatter(rows: Sequence[Mapping[str, Any]], filters: Filters) -> Markup:
    """Speed against cleanliness, a point for each author that leads to their submissions.

    Args:
        rows: ``author``, ``speedup``, ``clean_rate`` and ``timed``.
        filters: What the rows are about.
    """
    finite = (row for row in rows if row["speedup"] and math.isfinite(row["speedup"]) and row["clean_rate"] is not None)
    known = list(finite)[:MOST_POINTS]
    logs = [math.log2(row["speedup"]) for row in known] or [0.0]
    low, high = math.floor(min(*logs, -1.0)), math.ceil(max(*logs, 1.0))
    parts = _shares()
    for power in range(low, high + 1, max(1, (high - low) // 6)):
        x = _LEFT + _WIDE * (power - low) / (high - low)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_TOP + _HIGH, class_="rule"))
        parts.append(element("text", f"{2.0**power:g}×", x=x, y=_TOP + _HIGH + 18, class_="small middle faint"))
    largest = max((row["timed"] for row in known), default=1)
    for row, at in zip(known, logs, strict=False):
        name = one_line(row["author"], limit=60) or "no author named"
        said = f"{name}: {number(row['speedup'], 3)} times as fast, {percent(row['clean_rate'])} clean, {row['timed']} timed"
        dot = element(
            "circle",
            element("title", said),
            cx=_LEFT + _WIDE * (at - low) / (high - low),
            cy=_TOP + _HIGH * (1 - row["clean_rate"]),
            r=4 + 5 * math.sqrt(row["timed"] / largest),
            class_="dot" if row["clean_rate"] >= 0.5 else "dot low",
        )
        url = link("/submissions", replace(filters, authors=(row["author"],)))
        parts.append(element("a", dot, href=url, aria_label=said))
    plot = picture(
        "scatter",
        *_SIZE,
        "Speed of clean kernels against the share of clean kernels",
        f"{len(known)} authors; the table has their figures",
        *parts,
    )
    # A picture is one image to a reader of screens; one with links in it is a group of them.
    return Markup(plot.replace('role="img"', 'role="group"', 1))


def _shares() -> list[Markup]:
    parts = []
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _TOP + _HIGH * (1 - at)
        parts.append(element("line", x1=_LEFT, x2=_LEFT + _WIDE, y1=y, y2=y, class_="rule"))
        parts.append(element("text", f"{at:.0%}", x=_LEFT - 8, y=y + 4, class_="small end faint"))
    return parts


def _ticks(most: float) -> list[float]:
    step = 10 ** math.floor(math.log10(most))
    step = step / 2 if most / step < 4 else step
    return [step * number_of for number_of in range(int(most / step) + 1)]


def _percent(value: float | None) -> str:
    return "–" if value is None else percent(value)
