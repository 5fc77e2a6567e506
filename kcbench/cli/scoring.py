"""Scoring submissions from the command line: what ``eval`` and ``redteam`` have in common."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from kcbench.cli.exits import INTERRUPTED
from kcbench.cli.progress import RunProgress
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.domain.result import Result
    from kcbench.domain.submission import Submission
    from kcbench.domain.task import Task
    from kcbench.engine import Event, Options


def load_tasks(submissions: Sequence[Submission]) -> dict[str, Task]:
    """The tasks of all submissions that can be scored, by id."""
    from kcbench.tasks import load_task

    return {name: load_task(name) for name in sorted({item.task for item in submissions if not item.problem})}


def make_options(
    *,
    seed: str,
    device: str,
    jobs: int | None,
    bounds: str = "stochastic",
    gates: tuple[str, ...] = (),
    legacy: tuple[str, ...] | None = None,
    time_limit: float | None = None,
    memory: float | None = None,
) -> Options:
    """The engine's options.

    Args:
        seed: Secret of the run.
        device: ``auto``, ``cpu`` or ``cuda``.
        jobs: Submissions scored at the same time; None for as many as there are cores, at most four.
        bounds: Error model of the value gates.
        gates: Gates to judge; empty for all.
        legacy: Legacy checks to run; None for all.
        time_limit: Seconds for a submission as a whole; its parts get no more.
        memory: GiB for a submission.

    Raises:
        KcbenchError: There is no such device.
    """
    from kcbench.engine import LEGACY, Options, resolve_device
    from kcbench.runtime import Limits

    limits: dict[str, Any] = {}
    if time_limit is not None:
        usual = Limits()
        limits = {
            "total_seconds": time_limit,
            "call_seconds": min(usual.call_seconds, time_limit),
            "load_seconds": min(usual.load_seconds, time_limit),
        }
    if memory is not None:
        limits["memory_bytes"] = int(memory * (1 << 30))
    return Options(
        seed=seed,
        device=resolve_device(device),
        jobs=jobs or min(len(os.sched_getaffinity(0)), 4),
        bounds=bounds,
        gates=gates,
        legacy=LEGACY if legacy is None else legacy,
        limits=Limits(**limits),
    )


def score(
    submissions: Sequence[Submission],
    options: Options,
    tasks: Mapping[str, Task],
    *,
    keep: Callable[[Result], None],
    done: Collection[str] = (),
    quiet: bool = False,
    resume: Sequence[str] = (),
) -> list[Result]:
    """Run the engine with progress on stderr.

    The first Ctrl-C lets the kernels finish that are running, the second one stops them. Either way the exit code is 130.

    Args:
        submissions: What to score.
        options: How.
        tasks: Their tasks by id.
        keep: Called with each result as it is finished.
        done: Keys of results that exist already.
        quiet: Show no progress.
        resume: The command that goes on with an interrupted run; empty where nothing was kept.
    """
    from kcbench.engine import run

    todo = [item for item in submissions if item.problem or options.key(tasks[item.task], item) not in done]
    stop = threading.Event()
    with RunProgress(len(todo), quiet=quiet) as progress:
        if len(todo) < len(submissions):
            progress.note(f"{len(submissions) - len(todo)} of {len(submissions)} submissions are scored already")

        def on_event(event: Event) -> None:
            if event.result is not None:
                keep(event.result)
            progress(event)

        try:
            with _graceful(stop, progress):
                results = run(todo, options, tasks=dict(tasks), on_event=on_event, stop=stop)
        except KeyboardInterrupt:
            stop.set()
            results = []
    if stop.is_set() and progress.finished < len(todo):
        line = f"interrupted: {progress.finished} of {progress.total} submissions were scored"
        line += f", and are kept; go on with: {shlex.join(resume)}" if resume else ""
        print(line, file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    return results


@contextmanager
def _graceful(stop: threading.Event, progress: RunProgress) -> Iterator[None]:
    """Let Ctrl-C set ``stop`` once, and raise KeyboardInterrupt after that."""

    def handle(_number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        progress.note("stopping when the kernels that are running are done; press Ctrl-C again to stop them")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def require_scorable(submissions: Sequence[Submission]) -> None:
    """Raise KcbenchError where none of the submissions can be scored, with the first reason."""
    if all(item.problem for item in submissions):
        first = submissions[0]
        fix = "" if len(submissions) == 1 else f"none of {len(submissions)} submissions can be scored; this is the first"
        raise KcbenchError(first.problem, where=first.path, fix=fix)
