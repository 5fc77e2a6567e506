"""Page: what a view hands over, and the HTML around it. Every value is escaped and cleaned on its way into a page."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcbench import __version__
from kcbench.leaderboard import marks
from kcbench.leaderboard.figures import Choices, Facts
from kcbench.leaderboard.filters import LEGACY_CHECKS, Filters
from kcbench.leaderboard.links import Asked, link, narrowed, value_word
from kcbench.leaderboard.theme import assets
from kcbench.report.catalog import gate_info
from kcbench.report.html import environment
from kcbench.report.text import clean, count, one_line, percent, percents

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
VIEWS = (
    ("/", "Board"),
    ("/gap", "Rigor gap"),
    ("/gates", "Gates"),
    ("/submissions", "Submissions"),
    ("/tasks", "Tasks"),
    ("/compare", "Compare"),
    ("/speed", "Speed"),
    ("/submit", "Submit"),
    ("/about", "About"),
)
"""Address and name of what the navigation shows."""
LABELS = {
    "levels": "Level",
    "languages": "Language",
    "backends": "Backend",
    "dtypes": "Dtype",
    "devices": "Device",
    "authors": "Author",
    "categories": "Task family",
    "tasks": "Task",
    "suites": "Suite",
    "trust": "Trust",
    "tiers": "Sandbox",
    "versions": "kcbench",
    "gates": "Only gates",
    "without": "Set aside",
}
"""The filters, in the order of the form, and what a reader knows them as."""
MOST_CHOICES = 150
"""Values that one menu shows; what is rarer is found by the search field."""
EMPTY = {"suites": "no suite", "authors": "no author named", "levels": "no level"}
"""How the empty value of a filter is shown."""


@dataclass(frozen=True)
class Page:
    """What a view shows."""

    template: str
    place: str
    """The entry of :data:`VIEWS` that it belongs to."""
    title: str
    meaning: str
    """What its figures mean, in a sentence or two."""
    context: Mapping[str, Any] = field(default_factory=dict)
    filtered: bool = True
    """The form with the filters stands above it."""
    said: str = ""
    """What a screen reader says when the page has changed in place."""
    status: int = 200


@dataclass(frozen=True)
class Menu:
    """One filter of the form."""

    name: str
    label: str
    summary: str
    """Its label, with what is chosen."""
    on: bool
    choices: tuple[tuple[str, str, bool], ...]
    """Value in the query, text, and whether it is chosen."""
    left_out: int
    """Values that there was no room for."""


def render(page: Page, asked: Asked, facts: Facts, choices: Choices) -> str:
    """The whole page as HTML."""
    return (
        templates()
        .get_template(page.template)
        .render(
            page=page,
            asked=asked,
            facts=facts,
            faults=[one_line(line, limit=300) for line in facts.faults],
            freshness=freshness(facts),
            menus=menus(asked.filters, choices) if page.filtered else (),
            legacy_checks=choices.legacy,
            default_legacy=LEGACY_CHECKS[0],
            **page.context,
        )
    )


def freshness(facts: Facts) -> tuple[tuple[str, str], ...]:
    """How old the figures are, and what they rest on, as pairs of words and value."""
    newest = moment(facts.newest) if facts.newest is not None else "none"
    shown = [
        ("source", "the sample that comes with kcbench" if facts.is_sample else facts.source),
        *([("revision", facts.revision[:12])] if facts.revision else []),
        ("newest run", newest),
        ("looked at", moment(facts.read)),
        ("holds", f"{count(facts.submissions, 'submission')} by {count(facts.authors, 'author')}"),
    ]
    return tuple(shown)


def moment(when: datetime) -> str:
    """A time as a reader compares it, in UTC: ``2026-03-01 09:30 UTC``."""
    known = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return known.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def menus(filters: Filters, choices: Choices) -> tuple[Menu, ...]:
    """The filters that there is something to choose in."""
    made = []
    for name, label in LABELS.items():
        known = (*choices.gates, *choices.codes) if name == "without" else getattr(choices, name)
        chosen = getattr(filters, name)
        # What is chosen stays in the form, also where nothing has it any more.
        values = tuple(dict.fromkeys((*(value for value in chosen if value not in known[:MOST_CHOICES]), *known[:MOST_CHOICES])))
        if len(values) < 2 and not chosen:
            continue
        shown = tuple((value_word(name, value), value or EMPTY.get(name, "none"), value in chosen) for value in values)
        summary = f"{label}: {', '.join(text for _, text, on in shown if on)}" if chosen else label
        made.append(Menu(name, label, one_line(summary, limit=44), bool(chosen), shown, max(0, len(known) - MOST_CHOICES)))
    return tuple(made)


@functools.cache
def templates() -> Environment:
    """The templates, with what all of them use."""
    made = environment(TEMPLATES)
    made.globals |= {
        "assets": assets(),
        "link": link,
        "narrowed": narrowed,
        "moment": moment,
        "version": __version__,
        "views": VIEWS,
        "rate": marks.rate,
        "share": marks.share,
        "badge": marks.badge,
        "ratio": marks.ratio,
        "count": count,
        "percent": percent,
        "percents": percents,
        "gate_info": gate_info,
        "clean": clean,
        "one_line": one_line,
    }
    return made
