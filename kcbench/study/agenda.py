"""Agenda: which process of a study examines what next."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from kcbench.study.job import Job

J = TypeVar("J", bound=Job)

WORTH_IT = 8
"""Jobs of one group that must be left for a second process to help with them: first it has to find out all that the first one
knows of their task and of what they share."""

Key = tuple[int, str, str]
"""Turn, task and group."""


class Agenda(Generic[J]):
    """Hands out jobs. A process stays with its group, then with its task, as long as there is something to do.

    Args:
        jobs: What is to be examined.
        first: Language whose kernels come before all others; empty for none.
    """

    def __init__(self, jobs: Iterable[J], *, first: str = "") -> None:
        self._left: dict[Key, deque[J]] = {}
        for job in jobs:
            turn = int(bool(first) and job.language != first)
            self._left.setdefault((turn, job.task, job.group), deque()).append(job)
        self._begun: set[tuple[int, str]] = set()
        self._at: dict[int, Key] = {}

    def next(self, process: int) -> J | None:
        """What a process is to examine next; None where nothing is left for it.

        Args:
            process: Its number; what it had before is done.
        """
        before = self._at.pop(process, None)
        key = self._choose(before)
        if key is None:
            return None
        self._at[process] = key
        self._begun.add(key[:2])
        found = self._left[key].popleft()
        if not self._left[key]:
            del self._left[key]
        return found

    def _choose(self, before: Key | None) -> Key | None:
        if before in self._left:
            return before
        others = set(self._at.values())
        mine = [key for key in self._left if before is not None and key[:2] == before[:2] and key not in others]
        if mine:
            return mine[0]
        sizes: Counter[tuple[int, str]] = Counter()
        for key, jobs in self._left.items():
            sizes[key[:2]] += len(jobs)
        # Large tasks first, so that none of them is the last one that all others wait for.
        fresh = [key for key in self._left if key[:2] not in self._begun]
        if fresh:
            return min(fresh, key=lambda key: (key[0], -sizes[key[:2]]))
        worth_it = [key for key, jobs in self._left.items() if key not in others or len(jobs) >= WORTH_IT]
        return min(worth_it, key=lambda key: (key[0], key in others, -len(self._left[key])), default=None)
