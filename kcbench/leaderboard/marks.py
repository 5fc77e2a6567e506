"""Marks: small pieces of HTML that many views show, such as a share with its interval."""

from __future__ import annotations

import math

from markupsafe import Markup, escape

from kcbench.report.gap import Share
from kcbench.report.text import percent, percents

WIDE = 104
"""Width of a bar, in user units."""


def rate(value: float | None, low: float | None = None, high: float | None = None, *, kind: str = "", of: str = "") -> Markup:
    """A share in words, with its interval below it and a bar: all of it as text, too.

    Args:
        value: From 0 to 1; None where nothing was counted.
        low: Lower end of its interval, if it has one.
        high: Upper end.
        kind: ``bad`` for what is better low, ``still`` for what is neither.
        of: What it was counted in, ``23/40`` for example.
    """
    if value is None or not math.isfinite(value):
        return Markup('<span class="at" title="nothing counted">–</span> <small>{}</small>').format(of)
    # A page has hundreds of these, and formatting Markup takes most of its time: what is not a number is escaped by hand.
    small = f" <small>{escape(of)}</small>" if of else ""
    told = ""
    if low is not None and high is not None:
        told = f'<br><small title="95 % interval (Wilson)">{escape(percents(low, high))}</small>'
    return Markup(f'<span class="at">{escape(percent(value))}{small}</span>{told}{bar(value, low, high, kind)}')


def share(found: Share, *, kind: str = "") -> Markup:
    """:func:`rate` of a counted share."""
    ends = (found.low, found.high) if found.n else (None, None)
    return rate(found.value, *ends, kind=kind, of=f"{found.k:,}/{found.n:,}")


def bar(value: float, low: float | None, high: float | None, kind: str = "") -> Markup:
    """A bar from 0 to 1 with its interval; the text beside it says the same, so readers of screens are spared it."""
    held = WIDE * min(max(value, 0.0), 1.0)
    ends = ""
    if low is not None and high is not None:
        a, b = WIDE * low, WIDE * high
        ends = f'<path d="M{a:.1f} 0v7M{b:.1f} 0v7M{a:.1f} 3.5H{b:.1f}" class="ends"/>'
    return Markup(
        f'<svg viewBox="0 0 {WIDE} 7" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect y="1" width="{WIDE}" height="5" rx="2" class="track"/>'
        f'<rect y="1" width="{held:.1f}" height="5" rx="2" class="fill {escape(kind)}"/>{ends}</svg>'
    )


def badge(verified: int, kernels: int) -> Markup:
    """Who ran the kernels: the maintainers (verified), the submitter (self-reported), or both."""
    if kernels and verified >= kernels:
        return Markup('<span class="badge verified" title="run again by the maintainers’ own job">✓ verified</span>')
    if verified:
        return Markup('<span class="badge mixed" title="{} of {} run again by the maintainers">{}/{} verified</span>').format(
            verified, kernels, verified, kernels
        )
    return Markup('<span class="badge self" title="as the submitter reports it">self-reported</span>')


def ratio(value: float | None) -> str:
    """A speedup: ``1.23×``; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.2f}×" if value < 100 else f"{value:,.0f}×"
