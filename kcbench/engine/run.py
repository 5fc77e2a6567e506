"""Scores many submissions, several at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from kcbench.domain.result import Result
from kcbench.domain.submission import Submission
from kcbench.domain.task import Task
from kcbench.engine.options import Options
from kcbench.engine.scorer import Scorer, require_language
from kcbench.tasks import load_task


@dataclass(frozen=True)
class Event:
    """Progress: ``started`` or ``finished`` for one submission."""

    kind: str
    submission: Submission
    result: Result | None = None


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
    loaded = dict(tasks or {})
    for item in submissions:
        require_language(item)
        if item.task not in loaded and not item.problem:
            loaded[item.task] = load_task(item.task)
    order = {name: place for place, name in enumerate(dict.fromkeys(item.task for item in submissions))}
    seen = set(done)
    todo = [item for item in submissions if item.problem or options.key(loaded[item.task], item) not in seen]
    # Submissions of one task run one after the other, so that few tasks are in memory at a time.
    todo.sort(key=lambda item: order[item.task])
    lock = threading.Lock()
    results: list[Result] = []
    aborted = threading.Event()

    with Scorer(options=options, kept=options.jobs) as scorer:

        def one(item: Submission) -> None:
            if aborted.is_set() or (stop is not None and stop.is_set()):
                return
            with lock:
                on_event(Event("started", item))
            result = scorer.score_submission(item, loaded.get(item.task))
            with lock:
                # What ran while the workers were taken down was cut short: it says nothing about the submission.
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
                scorer.close()
                raise
    return results
