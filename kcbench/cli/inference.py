"""Contracts for the problems of a run, inferred in processes of their own: one that crashes there takes nothing along."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING

import typer

from kcbench.cli.exits import INTERRUPTED
from kcbench.cli.progress import StepProgress
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.domain.submission import Submission
    from kcbench.domain.task import Task
    from kcbench.suites.kernelbench import Problem


@dataclass(frozen=True)
class Inferred:
    """Tasks made of problems, and why the others could not be made."""

    tasks: dict[str, Task] = field(default_factory=dict)
    """By task id."""
    unusable: dict[str, str] = field(default_factory=dict)
    """Reason by task id: something is wrong with the problem."""
    failed: dict[str, str] = field(default_factory=dict)
    """Reason by task id: kcbench itself failed."""


def infer_tasks(
    problems: Mapping[str, Problem], submissions: Iterable[Submission], *, jobs: int, quiet: bool = False
) -> Inferred:
    """Make tasks of the problems that some submission needs.

    Args:
        problems: Problems by task id; what is not among them is a task already.
        submissions: Those with a ``problem`` need none.
        jobs: How many at a time.
        quiet: Show no progress.
    """
    needed = {item.task for item in submissions if not item.problem}
    wanted = {name: problem for name, problem in problems.items() if name in needed}
    return infer_problems(wanted, jobs=jobs, quiet=quiet)


def infer_problems(problems: Mapping[str, Problem], *, jobs: int, quiet: bool = False) -> Inferred:
    """Make tasks of problems.

    Args:
        problems: Problems by task id.
        jobs: How many at a time.
        quiet: Show no progress.
    """
    made = Inferred(unusable={name: problem.defect for name, problem in problems.items() if problem.defect})
    todo = {name: problem.code for name, problem in problems.items() if not problem.defect}
    with StepProgress(len(todo), "contract", quiet=quiet) as progress:
        try:
            lost = _infer(todo, made, min(jobs, len(todo)), progress)
            for name in lost:
                # A process that dies takes its pool along. Alone, it shows which problem it was.
                if _infer({name: todo[name]}, made, 1, progress):
                    made.unusable[name] = "the process that ran the problem died (out of memory, or a crash)"
                    progress.step(name, made.unusable[name])
        except KeyboardInterrupt:
            done = len(made.tasks)
            line = f"interrupted: {done} of {len(todo)} contracts were inferred, and are kept; go on with the same command"
            print(line, file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    return made


def _infer(todo: Mapping[str, str], made: Inferred, jobs: int, progress: StepProgress) -> list[str]:
    """Infer several, and return those that were lost with the process that ran them."""
    if not todo:
        return []
    lost = []
    pool = executor(jobs)
    try:
        futures = _submit(pool, todo)
        for future in as_completed(futures):
            name = futures[future]
            try:
                task, unusable, failed, seconds = future.result()
            except BrokenProcessPool:
                lost.append(name)
                continue
            if task is not None:
                made.tasks[name] = task
            elif unusable:
                made.unusable[name] = unusable
            else:
                made.failed[name] = failed
            progress.step(name, unusable or failed or "inferred", seconds)
    except KeyboardInterrupt:
        for child in active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return sorted(lost)


def _submit(pool: Executor, todo: Mapping[str, str]) -> dict[Future[Answer], str]:
    """Submit all, with children that are deaf to Ctrl-C, which reaches every process of the terminal: one is to tell of it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return {pool.submit(infer_one, code, name): name for name, code in todo.items()}
    finally:
        signal.signal(signal.SIGINT, before)


Answer = tuple["Task | None", str, str, float]
"""The task, or what is wrong with the problem, or what went wrong in kcbench; and the seconds that it took."""


def infer_one(code: str, name: str) -> Answer:
    """Infer one contract; runs in a process of its own, and never raises."""
    start = time.perf_counter()
    try:
        from kcbench.infer import task_of_problem

        return task_of_problem(code, task_id=name), "", "", time.perf_counter() - start
    except KcbenchError as error:
        # Whoever shows the reason names the problem.
        return None, str(KcbenchError(error.what, fix=error.fix)), "", time.perf_counter() - start
    except Exception as error:
        return None, "", f"the contract could not be inferred: {type(error).__name__}: {error}", time.perf_counter() - start


def executor(jobs: int) -> Executor:
    """Processes that share nothing with this one, so that neither torch's threads nor a GPU are inherited."""
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_prepare)


def _prepare() -> None:
    if os.environ.get("KCBENCH_DEBUG", "0") in ("", "0"):
        # What problems print has no place between progress and report.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
