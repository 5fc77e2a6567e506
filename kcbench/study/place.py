"""Place: where the kernels of a study run, and what keeps their accidents away from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from kcbench.domain.task import Task
from kcbench.engine.shared import EagerModel
from kcbench.oracle.oracle import TaskOracle
from kcbench.runtime import Limits, WorkerPool, WorkerSession
from kcbench.study.isolated import Died, isolated
from kcbench.study.local import LocalSession

SESSIONS = 2
"""Sessions that a study has open at a time: a kernel's, and that of the one it is compared with."""
LIMITS = Limits(reserve_seconds=30.0)
"""For workers: less patience than with a submission, whose author waits for one verdict and not for thousands."""


class Place(Protocol):
    """Where the kernels of a study run."""

    @property
    def device(self) -> str:
        """``cpu`` or ``cuda``."""

    def open(self, source: str, *, interpreted: bool) -> WorkerSession:
        """A session for a kernel; close it when done.

        Args:
            source: The kernel's source text.
            interpreted: It is a Triton kernel, for the interpreter.
        """

    def oracle(self, task: Task, *, seed: str) -> AbstractContextManager[TaskOracle]:
        """A task's oracle, which sees the eager model where the kernels run.

        Args:
            task: The task.
            seed: What the inputs follow from.
        """

    def apart(self, action: Callable[[], Any], *, seconds: float) -> Any | Died:
        """What a function returns that runs a kernel of which anything must be expected.

        Args:
            action: The function. What it returns must be JSON.
            seconds: Processor time allowed, where the place has no limits of its own.
        """


class Here:
    """This process, on the CPU. Whatever runs a kernel that is not known to be harmless does so in a fork."""

    device = "cpu"

    def open(self, source: str, *, interpreted: bool) -> LocalSession:
        return LocalSession(source, interpret=interpreted)

    def oracle(self, task: Task, *, seed: str) -> AbstractContextManager[TaskOracle]:
        return nullcontext(TaskOracle(task, seed=seed))

    def apart(self, action: Callable[[], Any], *, seconds: float) -> Any | Died:
        return isolated(action, seconds=seconds)


HERE = Here()


class Workers:
    """The workers of a pool, which keep accidents to themselves: a faulty kernel may break the device's context.

    Args:
        pool: The pool. It stays the caller's to close.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    @property
    def device(self) -> str:
        return self._pool.device.partition(":")[0]

    def open(self, source: str, *, interpreted: bool) -> WorkerSession:
        return self._pool.open(source, interpret=interpreted)

    @contextmanager
    def oracle(self, task: Task, *, seed: str) -> Iterator[TaskOracle]:
        model = EagerModel(task, self._pool)
        try:
            model.oracle = TaskOracle(task, seed=seed, run_eager=model.probe)
            yield model.oracle
        finally:
            model.close()

    def apart(self, action: Callable[[], Any], *, seconds: float) -> Any:
        return action()


@contextmanager
def place_on(device: str) -> Iterator[Place]:
    """The place for a device: this process for a CPU, workers for a GPU.

    Args:
        device: ``cpu`` or ``cuda``.
    """
    if device == "cpu":
        yield HERE
        return
    with WorkerPool(device=device, limits=LIMITS, slots=SESSIONS) as pool:
        yield Workers(pool)
