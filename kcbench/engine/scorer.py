"""Scores kernels as they come, and keeps warm what they share."""

from __future__ import annotations

import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from kcbench.domain.result import Result
from kcbench.domain.submission import Submission
from kcbench.domain.task import Task
from kcbench.engine.options import Options, resolve_device
from kcbench.engine.score import score
from kcbench.engine.shared import Shared
from kcbench.errors import MissingExtraError
from kcbench.runtime import WorkerPool
from kcbench.suites.folder import parse_submission
from kcbench.tasks import load_task


@dataclass
class _Held:
    """A task whose oracle and eager model are kept."""

    digest: str
    users: int = 0


def require_language(submission: Submission) -> None:
    """Ask for Triton where a submission's kernels are in it.

    Raises:
        MissingExtraError: It is not installed.
    """
    if submission.language == "triton" and not submission.problem and importlib.util.find_spec("triton") is None:
        raise MissingExtraError("triton", "triton")


class Scorer:
    """Scores kernels one by one, where :func:`evaluate` would start its workers anew for each.

    Worker processes stay, and so does what the kernels of a task share: truth, noise and the eager model's answers. Every kernel
    still gets a worker of its own, forked for it. Several threads may use one scorer. To be closed, or used in a ``with``.

    Args:
        seed: Secret that all inputs follow from; the same seed gives the same verdicts.
        device: ``auto``, ``cpu`` or ``cuda``.
        jobs: Kernels that :meth:`score_all` scores at a time.
        options: Everything else; overrides the arguments before it.
        kept: Tasks whose oracles are kept, the latest ones.

    Raises:
        KcbenchError: ``cuda`` was asked for and torch sees no GPU.
    """

    def __init__(
        self, *, seed: str = "0", device: str = "auto", jobs: int = 1, options: Options | None = None, kept: int = 8
    ) -> None:
        self.options = options or Options(seed=seed, device=resolve_device(device), jobs=jobs)
        self._kept = kept
        self._pool = WorkerPool(device=self.options.device, limits=self.options.limits, slots=self.options.jobs)
        self._shared = Shared(self.options, {}, self._pool)
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._free = threading.Condition()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all workers. What is being scored is cut short."""
        self._pool.close()

    def score(self, task: str | Task, source: str) -> Result:
        """Score one kernel against one task.

        Args:
            task: Task id such as ``level1/softmax``, or a loaded task.
            source: The submission's source text, with a ``ModelNew`` class.

        Returns:
            The result with legacy scores, guard findings and twelve verdicts. What the submission does never raises.

        Raises:
            KcbenchError: The task is unknown, or a package that is needed is missing.
        """
        task = load_task(task) if isinstance(task, str) else task
        return self.score_submission(parse_submission(source, path="<source>", id="submission", task=task.id), task)

    def score_all(self, task: str | Task, sources: Iterable[str]) -> list[Result]:
        """Score several kernels against one task, ``jobs`` at a time.

        Args:
            task: As for :meth:`score`.
            sources: Source texts.

        Returns:
            Their results, in their order.

        Raises:
            KcbenchError: As for :meth:`score`.
        """
        loaded = load_task(task) if isinstance(task, str) else task
        with ThreadPoolExecutor(max_workers=self.options.jobs) as threads:
            return list(threads.map(lambda source: self.score(loaded, source), sources))

    def score_submission(self, submission: Submission, task: Task | None) -> Result:
        """Score a submission that has been parsed.

        Args:
            submission: What to score; one with a ``problem`` gets an ``unloadable`` result.
            task: Its task; may be None for one with a problem.
        """
        if submission.problem or task is None:
            return score(submission, self.options, self._shared, self._pool)
        require_language(submission)
        with self._holding(task):
            return score(submission, self.options, self._shared, self._pool)

    @contextmanager
    def _holding(self, task: Task) -> Iterator[None]:
        """Keep what the task's kernels share, at least for as long as one of them is scored."""
        digest = task.digest
        with self._free:
            # Two tasks with one id cannot be told apart by what is kept: the second waits, and the first is let go of.
            self._free.wait_for(lambda: self._held.get(task.id, _Held(digest)).digest == digest or not self._held[task.id].users)
            if task.id in self._held and self._held[task.id].digest != digest:
                self._forget(task.id)
            self._shared.tasks[task.id] = task
            held = self._held.setdefault(task.id, _Held(digest))
            self._held.move_to_end(task.id)
            held.users += 1
            self._let_go()
        try:
            yield
        finally:
            with self._free:
                held.users -= 1
                self._let_go()
                self._free.notify_all()

    def _let_go(self) -> None:
        """Forget the tasks beyond the latest ones that no kernel is scored on."""
        idle = [task_id for task_id, held in self._held.items() if not held.users]
        for task_id in idle[: max(0, len(self._held) - self._kept)]:
            self._forget(task_id)

    def _forget(self, task_id: str) -> None:
        del self._held[task_id]
        self._shared.forget(task_id)


def evaluate(task: str | Task, source: str, *, seed: str = "0", device: str = "auto", options: Options | None = None) -> Result:
    """Score one kernel against one task; for more than one a :class:`Scorer` is faster.

    Args:
        task: Task id such as ``level1/softmax``, or a loaded task.
        source: The submission's source text, with a ``ModelNew`` class.
        seed: Secret that all inputs follow from; the same seed gives the same verdicts.
        device: ``auto``, ``cpu`` or ``cuda``.
        options: Everything else; overrides ``seed`` and ``device``.

    Returns:
        The result with legacy scores, guard findings and twelve verdicts. What the submission does never raises.

    Raises:
        KcbenchError: The task is unknown, or a package that is needed is missing.
    """
    with Scorer(seed=seed, device=device, options=options) as scorer:
        return scorer.score(task, source)
