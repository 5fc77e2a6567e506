"""Panel: the other published checkers, asked about kernels of one task."""

from __future__ import annotations

import time

from kcbench.domain.task import Task
from kcbench.study.allowance import allowance
from kcbench.study.checkers import Checker, all_checkers
from kcbench.study.failure import told
from kcbench.study.isolated import Died
from kcbench.study.opinions import Opinions
from kcbench.study.place import Place

LONGEST = 20.0
"""Seconds of processor time that a checker may take for the honest kernel. One that takes longer, on the interpreter at the sizes
of a benchmark, is not asked at all: its silence would count as a refusal."""


class Panel:
    """Asks all of them, each about each kernel in a fork of its own.

    Args:
        place: What keeps accidents away from this process; on a CPU.
        task: The task.
        honest: Source text of an honest kernel for it, which shows how long an answer takes.
        interpreted: They are Triton kernels, for the interpreter.
        seed: What inputs are drawn from, where a checker has no public seeds of its own.
    """

    def __init__(self, place: Place, task: Task, honest: str, *, interpreted: bool, seed: str) -> None:
        self._place, self._task, self._interpreted, self._seed = place, task, interpreted, seed
        self._seconds: dict[str, float] = {}
        for checker in all_checkers():
            # What it asks about the task is kept here, so that forks share it; no kernel is needed for that.
            checker.accepts("", task, interpreted=False, seed=seed)
            seconds = self._timed(checker, honest)
            if seconds is not None:
                self._seconds[checker.id] = allowance(seconds, interpreted=interpreted)

    def _timed(self, checker: Checker, honest: str) -> float | None:
        """Seconds for an answer about the honest kernel; None where there is none."""

        def ask() -> float:
            start = time.process_time()
            checker.accepts(honest, self._task, interpreted=self._interpreted, seed=self._seed)
            return time.process_time() - start

        seconds = self._place.apart(ask, seconds=LONGEST)
        return None if isinstance(seconds, Died) else float(seconds)

    def opinions(self, source: str) -> Opinions:
        """What they say of a kernel. One that ends its fork, or does not come back, is refused by whoever asked."""
        accepted: list[str] = []
        refused: list[str] = []
        failures = {}
        for checker in (checker for checker in all_checkers() if checker.id in self._seconds):
            try:
                (accepted if self._accepts(checker, source) else refused).append(checker.id)
            except Exception as error:  # What one of them fails at is no reason not to ask the others.
                failures[checker.id] = told(error)
        return Opinions(tuple(accepted), tuple(refused), failures)

    def _accepts(self, checker: Checker, source: str) -> bool:
        said = self._place.apart(
            lambda: checker.accepts(source, self._task, interpreted=self._interpreted, seed=self._seed),
            seconds=self._seconds[checker.id],
        )
        return not isinstance(said, Died) and bool(said)
