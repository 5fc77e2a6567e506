"""Agenda: which process of a study examines which mutant next."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from kcbench.mutants.planted import Planted

WORTH_IT = 8
"""Mutants of one kernel that must be left for a second process to help with them: first it has to find out all that the first
one knows of their task and of the honest kernel."""

Key = tuple[int, str, str]
"""Turn, task and subject."""


class Agenda:
    """Hands out mutants. A process stays with its kernel, then with its task, as long as there is something to do.

    Args:
        planted: What is to be examined.
        first: Language whose kernels come before all others; empty for none.
    """

    def __init__(self, planted: Iterable[Planted], *, first: str = "") -> None:
        self._left: dict[Key, deque[Planted]] = {}
        for item in planted:
            turn = int(bool(first) and item.subject.language != first)
            self._left.setdefault((turn, item.subject.task.id, item.subject.id), deque()).append(item)
        self._begun: set[tuple[int, str]] = set()
        self._at: dict[int, Key] = {}

    def next(self, process: int) -> Planted | None:
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
        for key, items in self._left.items():
            sizes[key[:2]] += len(items)
        # Large tasks first, so that none of them is the last one that all others wait for.
        fresh = [key for key in self._left if key[:2] not in self._begun]
        if fresh:
            return min(fresh, key=lambda key: (key[0], -sizes[key[:2]]))
        worth_it = [key for key, items in self._left.items() if key not in others or len(items) >= WORTH_IT]
        return min(worth_it, key=lambda key: (key[0], key in others, -len(self._left[key])), default=None)
