"""JSON as a person would write it: what fits stands on one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

WIDTH = 120


def json_text(data: Any) -> str:
    """Data as JSON text with a line break at its end; keys keep their order.

    Args:
        data: What ``json`` can write. NaN and infinities are refused with ValueError.
    """
    return _text(data, 0, 0) + "\n"


def _text(value: Any, indent: int, taken: int) -> str:
    """A value; ``taken`` is how much of its first line is used already."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # The outermost object is always spread out: one clause a line.
    if not isinstance(value, Mapping | list) or not value or (indent and indent + taken + len(line) <= WIDTH):
        return line
    inner = indent + 2
    if isinstance(value, Mapping):
        keys = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        items = [key + _text(item, inner, len(key)) for key, item in zip(keys, value.values(), strict=True)]
        opening, closing = "{}"
    else:
        items = [_text(item, inner, 0) for item in value]
        opening, closing = "[]"
    gap = " " * inner
    return f"{opening}\n" + ",\n".join(gap + item for item in items) + f"\n{' ' * indent}{closing}"
