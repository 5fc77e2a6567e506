"""Filters: which submissions a view is about, what counts as a refusal in it, and both as the query of a URL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import unquote

LEGACY_CHECKS = ("kernelbench-v0", "kernelbench-v1")
"""The legacy checks that results datasets have a column for; the first is the default."""
MOST_VALUES, LONGEST = 100, 200
"""What is read from a URL of one filter: so many values, of so many characters."""
_GATE = re.compile(r"[A-Z0-9][A-Z0-9-]{0,23}", re.ASCII)
_CODE = re.compile(r"[A-Z0-9][A-Z0-9-]{0,23}(\.[a-z0-9][a-z0-9-]{0,39})?", re.ASCII)


@dataclass(frozen=True)
class Filters:
    """A choice of submissions. Values of one filter are alternatives; an empty filter lets everything pass.

    Values are kept sorted and without repeats, so that equal choices are equal and can be keys of a cache.
    """

    levels: tuple[str, ...] = ()
    """``1``, ``2``, ...; from the task id."""
    languages: tuple[str, ...] = ()
    """``triton``, ``cuda``, ``torch``."""
    devices: tuple[str, ...] = ()
    """What devices call themselves."""
    authors: tuple[str, ...] = ()
    """Empty text for submissions that name none."""
    suites: tuple[str, ...] = ()
    """Published suites; empty text for submissions of none."""
    tiers: tuple[str, ...] = ()
    """Sandbox tiers."""
    tasks: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """Families of tasks, ``matmul`` for example."""
    dtypes: tuple[str, ...] = ()
    """Tasks whose contract declares one of these."""
    backends: tuple[str, ...] = ()
    """``compiled`` or ``interpreted`` (Triton without a GPU)."""
    trust: tuple[str, ...] = ()
    """``verified`` or ``self-reported``."""
    versions: tuple[str, ...] = ()
    """Versions of kcbench that made the run."""
    runs: tuple[str, ...] = ()
    """Runs, by digest or its beginning. Only where runs are named do superseded submissions count."""
    search: str = ""
    """Text that the submission's id, its author or its task contains; upper and lower case are alike."""
    gates: tuple[str, ...] = ()
    """Only these gates refuse; the findings of others are set aside."""
    without: tuple[str, ...] = ()
    """Gates (``PRC-01``) and codes (``PRC-01.tf32``) whose findings are set aside."""
    legacy: str = LEGACY_CHECKS[0]
    """The legacy check to compare with."""

    def __post_init__(self) -> None:
        for name in _LISTS:
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))

    def to_query(self) -> dict[str, str]:
        """What differs from the default, as the query of a URL: several values of one filter are joined by commas."""
        query = {name: ",".join(map(_escaped, values)) for name in _LISTS if (values := getattr(self, name))}
        if self.search:
            query["search"] = self.search
        if self.legacy != LEGACY_CHECKS[0]:
            query["legacy"] = self.legacy
        return query

    @classmethod
    def from_query(cls, query: Mapping[str, Any]) -> Filters:
        """Read the query of a URL. What makes no sense is left out; nothing is raised.

        Args:
            query: Texts by name; names that are no filter are ignored.
        """
        given = {name: text for name, text in query.items() if isinstance(text, str)}
        found: dict[str, Any] = {}
        for name in _LISTS:
            if name in given:
                found[name] = tuple(value for value in _values(given[name]) if _FORMS.get(name, _ANY).fullmatch(value))
        search = given.get("search", "")[:LONGEST].strip()
        legacy = given.get("legacy", "")
        if search.isprintable():
            found["search"] = search
        if legacy in LEGACY_CHECKS:
            found["legacy"] = legacy
        return cls(**found)


_LISTS = tuple(item.name for item in fields(Filters) if item.name not in ("search", "legacy"))
_ANY = re.compile(r"[^\x00-\x1f\x7f]*")
_FORMS = {"gates": _GATE, "without": _CODE, "runs": re.compile(r"[0-9a-f]{1,64}", re.ASCII)}
_ESCAPED_EMPTY = "%"
"""Stands for the empty text, which would vanish in a list."""


def _escaped(value: str) -> str:
    return value.replace("%", "%25").replace(",", "%2C") if value else _ESCAPED_EMPTY


def _values(text: str) -> list[str]:
    parts = [part for part in text.split(",", MOST_VALUES)[:MOST_VALUES] if part]
    return ["" if part == _ESCAPED_EMPTY else unquote(part, errors="replace")[:LONGEST] for part in parts]
