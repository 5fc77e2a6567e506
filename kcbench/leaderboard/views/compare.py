"""Compare: two authors, versions, devices or languages, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kcbench.leaderboard.figures import Choices
from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.links import FIRST, SECOND, Asked, value_word
from kcbench.leaderboard.page import EMPTY, LABELS, MOST_CHOICES, Page
from kcbench.leaderboard.store import Store
from kcbench.report.catalog import gate_info
from kcbench.report.text import one_line

SIDES = ("authors", "versions", "devices", "languages", "backends", "trust")
"""Filters that tell the two sides apart."""
MEANING = (
    "Two choices of submissions, on the same filters. Compare the intervals before the figures: where they overlap, the "
    "difference may be chance. Tasks that only one side has kernels for are left out of the last table."
)


@dataclass(frozen=True)
class Select:
    """One field of the form."""

    name: str
    label: str
    choices: tuple[tuple[str, str, bool], ...]
    """Value, text, and whether it is chosen; the empty value is for all."""


def view(store: Store, asked: Asked) -> Page:
    """The page."""
    choices = store.choices()
    sides = [asked.part(FIRST), asked.part(SECOND)]
    if not any(side.to_query() for side in sides):
        sides = _largest_two(store, asked)
    first, second = (_narrowed(asked.filters, side) for side in sides)
    found = store.compare(first, second)
    return Page(
        "compare.html.j2",
        "/compare",
        "Compare",
        MEANING,
        {
            "forms": (
                ("First", _selects(FIRST, sides[0], choices)),
                ("Second", _selects(SECOND, sides[1], choices)),
            ),
            "names": [_name(side) for side in sides],
            "sides": (found.first, found.second),
            "found": found,
            "gates": [(gate_info(row["gate"]), row) for row in found.gates.to_dicts()],
            "tasks": found.tasks.head(300).to_dicts(),
            "more_tasks": max(0, found.tasks.height - 300),
        },
        said="compared",
    )


def _largest_two(store: Store, asked: Asked) -> list[Filters]:
    authors = store.board(asked.filters).sort("kernels", descending=True, maintain_order=True)["author"].head(2).to_list()
    return [Filters(authors=(authors[number],)) if number < len(authors) else Filters() for number in (0, 1)]


def _narrowed(filters: Filters, side: Filters) -> Filters:
    return replace(filters, **{name: values for name in SIDES if (values := getattr(side, name))})


def _name(side: Filters) -> str:
    values = (value or EMPTY.get(name, "none") for name in SIDES for value in getattr(side, name))
    return one_line(", ".join(values), limit=80) or "all"


def _selects(prefix: str, side: Filters, choices: Choices) -> tuple[Select, ...]:
    made = []
    for name in SIDES:
        chosen = getattr(side, name)
        values = tuple(dict.fromkeys((*chosen, *getattr(choices, name)[:MOST_CHOICES])))
        if len(values) > 1 or chosen:
            none = EMPTY.get(name, "none")
            shown = tuple((value_word(name, value), one_line(value, limit=60) or none, value in chosen) for value in values)
            made.append(Select(f"{prefix}{name}", LABELS[name], (("", "all", not chosen), *shown)))
    return tuple(made)
