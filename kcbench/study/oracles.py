"""Oracles: that of one task at a time, with what it has found out so far."""

from __future__ import annotations

from contextlib import ExitStack

from kcbench.domain.task import Task
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.place import Place


class Oracles:
    """Keeps the oracle of the task that was asked for last. Close it when done.

    Args:
        place: Where kernels run.
        seed: Inputs follow from it.
    """

    def __init__(self, place: Place, *, seed: str) -> None:
        self._place, self._seed = place, seed
        self._stack = ExitStack()
        self._oracle: TaskOracle | None = None

    def of(self, task: Task) -> TaskOracle:
        """A task's oracle."""
        if self._oracle is None or self._oracle.task.id != task.id:
            self.close()
            self._oracle = self._stack.enter_context(self._place.oracle(task, seed=f"study/{self._seed}"))
        return self._oracle

    def close(self) -> None:
        """Give back what it holds at the place."""
        self._oracle = None
        self._stack.close()
