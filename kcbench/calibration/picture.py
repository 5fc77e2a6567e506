"""Picture: honest noise against broken error, one row a gate and dtype, on a logarithmic axis with the line at 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from kcbench.calibration.spread import Spread
from kcbench.numerics.statistics import percentile
from kcbench.report import plots
from kcbench.report.plots import element
from kcbench.report.text import count, number

LEAST, MOST = -4, 6
"""Decades that the axis covers; what lies beyond is drawn at its ends."""

_LEFT, _WIDE, _ROW, _TOP = 138, 560, 26, 58
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_STYLE = Markup(
    """
svg { --paper: #ffffff; --ink: #1a1f29; --soft: #5b6472; --rule: #dfe3ea; --honest: #0b5cad; --broken: #c4500a; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #11141a; --ink: #e7eaf0; --soft: #9aa4b4; --rule: #2c3440; --honest: #7db7f0; --broken: #f5955a; }
}
text { font: 12.5px system-ui, sans-serif; fill: var(--ink); }
.small { font-size: 12px; fill: var(--soft); } .end { text-anchor: end; } .middle { text-anchor: middle; }
.paper { fill: var(--paper); } .rule { stroke: var(--rule); } .line { stroke: var(--ink); stroke-width: 1.5; }
.honest { fill: var(--honest); stroke: var(--honest); } .broken { fill: var(--broken); stroke: var(--broken); }
text.honest, text.broken, rect { stroke: none; } .dots { stroke-width: 7; stroke-linecap: round; opacity: .4; }
"""
)


def picture(spreads: Sequence[Spread]) -> str:
    """The picture as an SVG file of its own, readable on a light and on a dark page.

    A bar reaches from the 1st to the 99th percentile; a dot is a kernel.
    """
    high = _TOP + max(len(spreads), 1) * _ROW + 12
    rows = [part for at, spread in enumerate(spreads) for part in _drawn(spread, _TOP + at * _ROW)]
    width = _LEFT + _WIDE + 22
    drawn = plots.picture(
        "calibration",
        width,
        high,
        "Honest noise and broken error",
        " ".join(map(_said, spreads)) or "Nothing was measured.",
        element("style", _STYLE),
        element("rect", width=width, height=high, class_="paper"),
        *_axis(high),
        *rows,
        xmlns="http://www.w3.org/2000/svg",
    )
    return f"{drawn}\n"


def _said(spread: Spread) -> str:
    parts = []
    if spread.worst is not None:
        parts.append(f"{count(len(spread.honest), 'honest kernel')}, worst {number(spread.worst, 3)}")
    if spread.least is not None:
        parts.append(f"{count(len(spread.broken), 'broken kernel')}, least {number(spread.least, 3)}")
    return f"{spread.gate} {spread.dtype}: {'; '.join(parts)}."


def _x(ratio: float) -> float:
    decades = math.log10(ratio) if ratio > 0 else float(LEAST)
    return _LEFT + _WIDE * (min(max(decades, LEAST), MOST) - LEAST) / (MOST - LEAST)


def _axis(high: float) -> list[Markup]:
    line = _x(1.0)
    parts = [
        element("text", "honest kernels", x=line - 10, y=18, class_="honest end"),
        element("text", "broken kernels", x=line + 10, y=18, class_="broken"),
    ]
    for decade in range(LEAST, MOST + 1):
        x = _x(10.0**decade)
        power = f"10{str(decade).translate(_RAISED)}"
        label = {0: "the line", LEAST: f"≤ {power}", MOST: f"≥ {power}"}.get(decade, power)
        parts.append(element("line", x1=x, x2=x, y1=_TOP - 10, y2=high - 8, class_="rule" if decade else "line"))
        parts.append(element("text", label, x=x, y=_TOP - 17, class_="small middle"))
    return parts


def _drawn(spread: Spread, y: float) -> list[Markup]:
    middle = y + _ROW / 2
    parts = [
        element("text", spread.gate, x=8, y=middle + 4),
        element("text", spread.dtype, x=_LEFT - 12, y=middle + 4, class_="small end"),
    ]
    for values, name in ((spread.honest, "honest"), (spread.broken, "broken")):
        if values:
            left, right = (_x(percentile(values, percent)) for percent in (1, 99))
            parts.append(element("rect", x=left, y=middle - 2, width=max(right - left, 1.0), height=4, rx=2, class_=name))
        # Dots as one path, and one a pixel: there are thousands of kernels.
        dots = "".join(f"M{x} {middle:g}h0" for x in sorted({round(_x(value)) for value in values}))
        parts.append(element("path", d=dots, class_=f"{name} dots"))
    return parts
