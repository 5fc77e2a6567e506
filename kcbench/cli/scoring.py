"""Scoring submissions from the command line: what ``eval`` and ``redteam`` have in common."""

from __future__ import annotations

import hashlib
import json
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kcbench import __version__
from kcbench.cli.exits import INTERRUPTED
from kcbench.cli.options import count_jobs, split_names
from kcbench.cli.progress import RunProgress
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.cli.inference import Inferred
    from kcbench.domain.result import Result
    from kcbench.domain.submission import Submission
    from kcbench.domain.task import Task
    from kcbench.engine import Event, Options


def load_tasks(submissions: Sequence[Submission], root: Path | None = None) -> dict[str, Task]:
    """The tasks of all submissions that can be scored, by id; ``root`` is as for :func:`kcbench.tasks.load_task`."""
    from kcbench.tasks import load_task

    return {name: load_task(name, root) for name in sorted({item.task for item in submissions if not item.problem})}


def make_options(
    *,
    seed: str,
    device: str,
    jobs: int | None,
    bounds: str = "stochastic",
    gates: tuple[str, ...] = (),
    legacy: tuple[str, ...] | None = None,
    timing: str | None = "none",
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
        timing: Comma-separated baselines, or ``none``; None for eager on a GPU and none on a CPU.
        time_limit: Seconds for a submission as a whole; its parts get no more.
        memory: GiB for a submission.

    Raises:
        KcbenchError: There is no such device or baseline.
    """
    from kcbench.engine import BASELINES, LEGACY, Options, resolve_device
    from kcbench.runtime import Limits

    limits: dict[str, Any] = {}
    if time_limit is not None:
        usual = Limits()
        limits = {
            "total_seconds": time_limit,
            "call_seconds": min(usual.call_seconds, time_limit),
            "load_seconds": min(usual.load_seconds, time_limit),
            "reserve_seconds": min(usual.reserve_seconds, time_limit),
        }
    if memory is not None:
        limits["memory_bytes"] = int(memory * (1 << 30))
    found = resolve_device(device)
    if timing is None:
        timing = "eager" if found == "cuda" else "none"
    return Options(
        seed=seed,
        device=found,
        jobs=count_jobs(jobs),
        bounds=bounds,
        gates=gates,
        legacy=LEGACY if legacy is None else legacy,
        limits=Limits(**limits),
        timing=() if timing == "none" else split_names(timing, BASELINES, "--timing"),
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
            with graceful(stop, progress.note):
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
def graceful(stop: threading.Event, note: Callable[[str], None]) -> Iterator[None]:
    """Let Ctrl-C set ``stop`` once, and raise KeyboardInterrupt after that.

    Args:
        stop: Tells whoever works to begin nothing more.
        note: Shows a line.
    """

    def handle(_number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        note("stopping when the kernels that are running are done; press Ctrl-C again to stop them")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def without_task(submissions: Sequence[Submission], inferred: Inferred, options: Options) -> list[Result]:
    """Results of the submissions whose problem cannot be used: no verdict, and none of them is to blame.

    Args:
        submissions: All submissions of the run.
        inferred: What became of the problems.
        options: How the run is made.
    """
    from kcbench.domain.result import Result

    made = []
    for item in submissions:
        reason = inferred.unusable.get(item.task) or inferred.failed.get(item.task)
        if item.problem or not reason:
            continue
        parts = [__version__, item.id, item.digest, reason, options.seed, dict(item.origin)]
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        status = "skipped" if item.task in inferred.unusable else "error"
        made.append(Result(key, item.to_json(), status, reason, labels=(item.language,)))
    return made


def require_scorable(submissions: Sequence[Submission]) -> None:
    """Raise KcbenchError where none of the submissions can be scored, with the first reason."""
    if all(item.problem for item in submissions):
        first = submissions[0]
        fix = "" if len(submissions) == 1 else f"none of {len(submissions)} submissions can be scored; this is the first"
        raise KcbenchError(first.problem, where=first.path, fix=fix)


def require_tasks(submissions: Sequence[Submission], inferred: Inferred) -> None:
    """Raise where no submission has a problem that can be used: KcbenchError, or RuntimeError if kcbench is to blame."""
    names = sorted({item.task for item in submissions if not item.problem})
    if any(name not in inferred.unusable and name not in inferred.failed for name in names):
        return
    unusable = next((name for name in names if name in inferred.unusable), "")
    if not unusable:
        raise RuntimeError(f"{names[0]}: {inferred.failed[names[0]]}")
    reason = inferred.unusable[unusable]
    fix = "" if len(names) == 1 else f"none of {len(names)} problems can be used"
    raise KcbenchError(reason, where=unusable, fix=fix)
