"""Figures: what a dataset card counts. Every number on the card is counted here, from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcbench.report.catalog import GATES

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True)
class Level:
    """One level of the tasks."""

    number: int
    tasks: int
    categories: Mapping[str, int]
    """Tasks by category, most frequent first."""
    kernelbench: int
    """Those that a KernelBench problem's submissions run against unchanged."""
    repairs: int
    """Those that state a degenerate problem anew."""


@dataclass(frozen=True)
class Figures:
    """The tasks of a dataset in numbers."""

    tasks: int
    levels: tuple[Level, ...]
    dtypes: Mapping[str, int]
    """Tasks by dtype, most frequent first."""
    gates: tuple[tuple[str, str, int], ...]
    """Gate id, title, and the tasks that it has a question for, in report order."""
    kernelbench: int
    repairs: int

    @property
    def size_category(self) -> str:
        """The Hub's name for this many rows."""
        return next((name for limit, name in _SIZES if self.tasks < limit), "n>1M")

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Figures:
        """Count the rows of the configuration ``all``."""
        numbers = sorted({row["level"] for row in rows})
        asked = _count(gate for row in rows for gate in row["gates"])
        return cls(
            tasks=len(rows),
            levels=tuple(_level(number, [row for row in rows if row["level"] == number]) for number in numbers),
            dtypes=_count(dtype for row in rows for dtype in row["dtypes"]),
            gates=tuple((gate.id, gate.title, asked.get(gate.id, 0)) for gate in GATES if gate.id != "GUARD"),
            kernelbench=_compatible(rows),
            repairs=_repairs(rows),
        )


def _level(number: int, rows: Sequence[Mapping[str, Any]]) -> Level:
    return Level(number, len(rows), _count(row["category"] for row in rows), _compatible(rows), _repairs(rows))


def _count(names: Iterable[str]) -> dict[str, int]:
    found = Counter(names)
    return {name: found[name] for name in sorted(found, key=lambda name: (-found[name], name))}


def _compatible(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["kernelbench_problem_id"] is not None for row in rows)


def _repairs(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["repairs"] is not None for row in rows)
