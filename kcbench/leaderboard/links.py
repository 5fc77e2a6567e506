"""Links: the address of every view, with its filters in the query, and reading both back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from kcbench.leaderboard.filters import Filters

FIRST, SECOND = "a.", "b."
"""What the names of the two choices of a comparison begin with."""
MOST_TEXT = 400
"""Longest text that is read from a query, of anything but a filter."""


@dataclass(frozen=True)
class Asked:
    """What a reader asks of a view."""

    path: str
    filters: Filters
    options: Mapping[str, str]
    """Everything else in the query, a text each."""

    @classmethod
    def read(cls, path: str, query: Iterable[tuple[str, str]]) -> Asked:
        """Read an address. A name that comes several times, as a form without script sends it, is one list.

        Args:
            path: For example ``/gap``.
            query: Names and values, in their order.
        """
        found: dict[str, str] = {}
        for name, value in query:
            if value:
                found[name] = f"{found[name]},{value}" if name in found else value
        names = Filters.__dataclass_fields__
        options = {name: value[:MOST_TEXT] for name, value in found.items() if name not in names}
        return cls(path, Filters.from_query(found), options)

    def option(self, name: str, default: str = "") -> str:
        """An option's text."""
        return self.options.get(name, default)

    def choice(self, name: str, known: Iterable[str], default: str) -> str:
        """An option that is one of several words; the default for any other."""
        found = self.options.get(name, default)
        return found if found in known else default

    def number(self, name: str, default: int, most: int) -> int:
        """An option that is a whole number from 0 to ``most``; the default for anything else."""
        text = self.options.get(name, "")
        return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 10 else default

    def part(self, prefix: str) -> Filters:
        """The choice of submissions whose filters begin with a prefix, for a view of two."""
        mine = {name.removeprefix(prefix): value for name, value in self.options.items() if name.startswith(prefix)}
        return Filters.from_query(mine)

    def url(self, **changes: Any) -> str:
        """This address with some options changed; None takes one away."""
        return link(self.path, self.filters, **{**self.options, **changes})


def link(path: str, filters: Filters | None = None, **options: Any) -> str:
    """The address of a view.

    Args:
        path: For example ``/gap``.
        filters: Which submissions it is about.
        options: Further words of the query; None and empty ones are left out.
    """
    query = filters.to_query() if filters is not None else {}
    query |= {name: str(value) for name, value in options.items() if value not in (None, "")}
    return f"{path}?{urlencode(query)}" if query else path


def narrowed(filters: Filters, **values: Any) -> Filters:
    """The filters with some of them replaced, a tuple of texts each."""
    return replace(filters, **values)


def value_word(name: str, value: str) -> str:
    """A value of a filter as it stands in a query, so that any text, also the empty one, can be told from several."""
    return narrowed(Filters(), **{name: (value,)}).to_query()[name]
