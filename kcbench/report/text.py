"""Putting untrusted text and numbers on a page: nothing that a submission says may steer a terminal or break an encoding."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|~])")


def clean(text: object, *, limit: int = 0) -> str:
    """Text that is safe to print: control characters (terminal escapes, text direction) and lone surrogates become visible.

    Args:
        text: Anything; ``str()`` is taken.
        limit: Longest result in characters; 0 for no limit. A cut text ends in an ellipsis.
    """
    shown = str(text)
    if not shown.isprintable():  # No printable character is one of those.
        shown = "".join(map(_visible, shown))
    return shown if not limit or len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def one_line(text: object, *, limit: int = 0) -> str:
    """:func:`clean` text with every run of white space replaced by one space."""
    return clean(" ".join(str(text).split()), limit=limit)


def _visible(char: str) -> str:
    if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs"):
        return char
    return ascii(char)[1:-1]


def markdown(text: object, *, limit: int = 0) -> str:
    """One line of text with every character that Markdown or HTML could act on escaped."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, limit=limit)).replace("&", "&amp;")


def number(value: Any, digits: int = 6) -> str:
    """A number as a person writes it: NaN, +Inf and -Inf by name, whole numbers without a point, others to some digits.

    Numbers that JSON cannot hold arrive as the strings ``nan``, ``inf`` and ``-inf``; what is no number becomes cleaned text.
    """
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return str(value)
    as_float = value if isinstance(value, float) else as_number(value)
    if as_float is None:
        return one_line(value, limit=200)
    if math.isnan(as_float):
        return "NaN"
    if math.isinf(as_float):
        return "+Inf" if as_float > 0 else "-Inf"
    return f"{as_float:.{digits}g}"


def as_number(value: Any) -> float | None:
    """A number, or one of the strings ``nan``, ``inf`` and ``-inf``, as a float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and value.strip().lower() not in ("nan", "inf", "+inf", "-inf"):
        return None
    return float(value)


def times(ratio: Any) -> str:
    """A ratio of error to tolerance in words: ``"16,700 times the tolerance"``; empty where it is unknown or not finite."""
    value = as_number(ratio)
    if value is None or not math.isfinite(value):
        return ""
    if value >= 1e9:
        return "more than a billion times the tolerance"
    return f"{float(f'{value:.3g}'):,.10g} times the tolerance"


def percent(share: float) -> str:
    """A share as per cent, to one digit, and never as 0 % or 100 % unless it is. The space does not break."""
    return f"{_percent(share)}\u00a0%"


def percents(low: float, high: float) -> str:
    """A range of shares: ``10.8 to 60.3 %``."""
    return f"{_percent(low)} to {percent(high)}"


def _percent(share: float) -> str:
    value = 100 * share
    if 0 < value < 0.05:
        return "<0.1"
    return ">99.9" if 99.95 <= value < 100 else f"{value:.1f}".removesuffix(".0")


def count(number_of: int, noun: str, plural: str = "") -> str:
    """``count(1, "kernel") == "1 kernel"``, ``count(2, "kernel") == "2 kernels"``."""
    return f"{number_of:,} {noun if number_of == 1 else plural or noun + 's'}"


def slug(text: object) -> str:
    """Text as part of a file name: letters, digits, dot, dash and underscore; everything else becomes a dash."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", str(text)).strip("-.") or "unnamed"
