"""Scores many submissions, several at a time."""

from __future__ import annotations

import importlib.util
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Event:
    """Progress: ``started`` or ``finished`` for one submission."""

    kind: str
    submission: Submission
    result: Result | None = None


def evaluate(task: str | Task, source: str, *, seed: str = "0", device: str = "auto", options: Options | None = None) -> Result:
    """Score one kernel against one task.

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
    task = load_task(task) if isinstance(task, str) else task
    options = options or Options(seed=seed, device=resolve_device(device))
    submission = parse_submission(source, path="<source>", id="submission", task=task.id)
    return run([submission], options, tasks={task.id: task})[0]


def run(
    submissions: Sequence[Submission],
    options: Options,
    *,
    tasks: dict[str, Task] | None = None,
    done: Iterable[str] = (),
    on_event: Callable[[Event], None] = lambda event: None,
    stop: threading.Event | None = None,
) -> list[Result]:
    """Score submissions, ``options.jobs`` at a time.

    Args:
        submissions: What to score; those with a ``problem`` get an ``unloadable`` result.
        options: How.
        tasks: Tasks by id that are already loaded; the others are loaded by id.
        done: Keys of results that exist: they are skipped.
        on_event: Called from worker threads, one call at a time; appending to the journal belongs here.
        stop: When set, no further submission is started.

    Returns:
        The new results, in the order in which they finished.
    """
    if any(item.language == "triton" and not item.problem for item in submissions):
        _require_triton()
    loaded = dict(tasks or {})
    for item in submissions:
        if item.task not in loaded and not item.problem:
            loaded[item.task] = load_task(item.task)
    order = {name: place for place, name in enumerate(dict.fromkeys(item.task for item in submissions))}
    seen = set(done)
    todo = [item for item in submissions if item.problem or options.key(loaded[item.task], item) not in seen]
    # Submissions of one task run one after the other, so that what they share can be dropped.
    todo.sort(key=lambda item: order[item.task])
    left = Counter(item.task for item in todo)
    lock = threading.Lock()
    results: list[Result] = []

    def announce(event: Event) -> None:
        with lock:
            on_event(event)

    with WorkerPool(device=options.device, limits=options.limits, slots=options.jobs) as pool:
        shared = Shared(options, loaded, pool)

        aborted = threading.Event()

        def one(item: Submission) -> None:
            if aborted.is_set() or (stop is not None and stop.is_set()):
                return
            announce(Event("started", item))
            result = score(item, options, shared, pool)
            with lock:
                left[item.task] -= 1
                last = not left[item.task]
            if last:
                shared.forget(item.task)
            with lock:
                # What ran while the pool was taken down was cut short: it says nothing about the submission.
                if not aborted.is_set():
                    results.append(result)
                    on_event(Event("finished", item, result))

        with ThreadPoolExecutor(max_workers=options.jobs) as threads:
            futures = [threads.submit(one, item) for item in todo]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                aborted.set()
                for future in futures:
                    future.cancel()
                pool.close()
                raise
    return results


def _require_triton() -> None:
    if importlib.util.find_spec("triton") is None:
        raise MissingExtraError("triton", "triton")
