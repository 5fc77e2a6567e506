"""Where kernels stand in a suite: which problem and which sample of it each one is, and that no two have one place."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kcbench.domain.submission import Submission
from kcbench.suites.kernelbench import origin

_PAIR = re.compile(r"(?:level_?)?(\d{1,9})/(\d{1,9})(?:_.*)?")
_NUMBER = re.compile(r"(?:level_?)?(\d{1,9})")


@dataclass(frozen=True)
class Place:
    """Level, problem and sample of one kernel."""

    level: int | None
    """None where the suite has no levels."""
    problem_id: int
    sample_id: int | None = None
    """None where it is to be counted."""

    def __str__(self) -> str:
        level = "" if self.level is None else f"level {self.level}, "
        return f"{level}problem {self.problem_id}, sample {self.sample_id}"


def parse_pair(text: str) -> Place | None:
    """The place that ``1/36``, ``level1/36`` or ``level1/36_RMSNorm_`` names; None for anything else."""
    match = _PAIR.fullmatch(text.strip())
    return Place(int(match[1]), int(match[2])) if match else None


def parse_number(value: object) -> int | None:
    """A level, problem or sample id from JSON or CSV: a whole number, or text such as ``3`` and ``level_3``; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value < 10**9 else None
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(match[1]) if match else None


def count_samples(places: Iterable[Place]) -> list[Place]:
    """The places with every sample told: those without take the free numbers of their problem, in order."""
    given = list(places)
    taken = {(place.level, place.problem_id, place.sample_id) for place in given}
    following: dict[tuple[int | None, int], int] = defaultdict(int)
    counted = []
    for place in given:
        if place.sample_id is None:
            problem = place.level, place.problem_id
            while (*problem, following[problem]) in taken:
                following[problem] += 1
            place = replace(place, sample_id=following[problem])
            following[problem] += 1
        counted.append(place)
    return counted


class Register:
    """Gives each submission its origin; the second one with the same place becomes a submission with a problem."""

    def __init__(self) -> None:
        self._first: dict[Place, str] = {}

    def enter(self, item: Submission, place: Place) -> Submission:
        """The submission with its origin.

        Args:
            item: The submission.
            place: Its place, with the sample told.
        """
        if place not in self._first:
            self._first[place] = item.path
            return replace(item, origin=origin(place.level, place.problem_id, place.sample_id))
        problem = item.problem or f"a second kernel for {place}: the first is {self._first[place]}"
        return replace(item, origin=origin(place.level, place.problem_id), problem=problem)
