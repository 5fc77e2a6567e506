"""Takes the timing of one submission after the other: see ``docs/timing.md`` for the method and what it cannot see."""

from __future__ import annotations

import itertools
import platform
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kcbench.domain import timing as t
from kcbench.domain.observation import Observation
from kcbench.domain.submission import Submission
from kcbench.domain.task import Task
from kcbench.domain.timing import Timing
from kcbench.engine.baselines import Baselines
from kcbench.engine.roofline import floor_ms
from kcbench.engine.series import Clocks, Effort, Series
from kcbench.engine.timed_output import problem
from kcbench.engine.workload import Workload
from kcbench.runtime import WorkerPool, WorkerSession
from kcbench.runtime.stopwatch import NotTimedError, Stopwatch, Trial
from kcbench.runtime.worker.timing import STEPS

EFFORT = Effort()
SLACK_MS = {"cuda": 0.05, "cpu": 1.0}
"""What starting a call may add to the grader's clock, by kind of device."""
ONCE_MS = {"cuda": 2.0, "cpu": 5.0}
"""What a request may add to it: two processes talk, and the grader's other threads want the interpreter too."""
SECOND_LOOKS = 4
"""Batches that are added where the two clocks disagree, before that is believed."""
CHECKS = 3
"""Outputs of timed calls that are judged, where they are not large."""
CHECKED_BYTES = 128 << 20
EXCESSIVE = 10.0
"""Speedup from which a timing is flagged, as KernelBench does it."""


@dataclass(frozen=True)
class Check:
    """An output of a timed call, chosen after the call was made."""

    trial: Trial
    seen: Observation


@dataclass(frozen=True)
class Answer:
    """What the eager model says to one trial."""

    chosen: int
    """The trial's input set."""
    seen: Observation


class Timekeeper:
    """Takes timings, one at a time.

    Args:
        pool: Where workers come from, and whose device is measured.
        seed: The run's secret.
        names: The baselines wanted.
    """

    def __init__(self, pool: WorkerPool, *, seed: str, names: Sequence[str]) -> None:
        self._pool, self._seed = pool, seed
        self._kind = "cpu" if pool.device == "cpu" else "cuda"
        self._baselines = Baselines(pool, names, EFFORT)
        self._lock = threading.Lock()
        self._workload: Workload | None = None

    def measure(self, item: Submission, task: Task, session: WorkerSession) -> Timing:
        """Time a submission.

        Args:
            item: The submission.
            task: Its task.
            session: Its session, loaded. Nothing else should be asked of it afterwards.

        Raises:
            NotTimedError: It cannot be timed, and why.
        """
        rng = random.Random(f"{self._seed}/timing/{item.id}/{item.digest}")
        # The lock comes before the device: who waits for it holds nothing that the one who has it could need.
        with self._lock:
            workload = self._workload_of(task)
            self._baselines.prepare(workload)
            series = self._ready(workload, session, rng)
            with self._pool.alone():
                checks, drift = self._take(series, rng)
            numbers = self._compose(task, workload, series, drift)
            answers = self._answers(workload, checks)
        wrong = _judge(checks, answers)
        flags = [t.TIMED_OUTPUT_WRONG] if any(wrong) else []
        detail: dict[str, Any] = dict(numbers.detail)
        if any(wrong):
            detail["timed_output"] = next(filter(None, wrong))
        judged = {**vars(numbers), "flags": (*flags, *numbers.flags), "detail": detail, "checked": len(wrong)}
        return Timing(**judged)

    def forget(self, task_id: str) -> None:
        """Let go of a task. Whoever is timed just now is of another task, whose inputs have taken the place of this one's."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._workload is not None and self._workload.task.id == task_id:
                self._workload = None
                self._baselines.close()
        finally:
            self._lock.release()

    def _workload_of(self, task: Task) -> Workload:
        if self._workload is None or self._workload.task.id != task.id:
            # The sets of one task at a time: at benchmark sizes they are large.
            self._workload = None
            self._baselines.close()
            self._workload = Workload.of(task, seed=self._seed, device=self._kind)
        return self._workload

    def _ready(self, workload: Workload, session: WorkerSession, rng: random.Random) -> Series:
        """The submission's series, after its first call. Others may use the device meanwhile: compiling can take long."""
        stopwatch = Stopwatch(session, workload.model, workload.task.contract.precision)
        # Only what the eager model can answer, too, so that outputs can be judged.
        sets = min(stopwatch.stage(workload.sets, workload.scaled), self._baselines.sets or len(workload.sets))
        series = Series(stopwatch, workload.trials(f"submission {rng.random()}", sets), EFFORT)
        series.first()
        return series

    def _take(self, series: Series, rng: random.Random) -> tuple[list[Check], float | None]:
        """Measure, with the device to ourselves; the outputs to be judged, and how the first baseline has changed."""
        baselines = self._baselines
        baselines.measure()
        series.warm_up()
        batches, calls = series.size
        chosen = _choose(batches, series.kept_bytes, rng)
        checks: list[Check] = []
        glances: list[float] = []
        for number in range(batches):
            if number in (0, batches // 2):
                glances += baselines.glance()
            trials = series.round(calls)
            if number in chosen:
                index = rng.randrange(calls)
                checks.append(Check(trials[index], series.stopwatch.output(index)))
            series.surround(calls)
        glances += baselines.glance()
        for _ in range(SECOND_LOOKS):
            if not self._disagree(series.clocks()):
                break
            series.round(calls)
            series.surround(calls)
        return checks, baselines.renew(glances)

    def _disagree(self, clocks: Clocks) -> bool:
        return clocks.disagree(slack_ms=SLACK_MS[self._kind], once_ms=ONCE_MS[self._kind])

    def _compose(self, task: Task, workload: Workload, series: Series, drift: float | None) -> Timing:
        clocks = series.clocks()
        stats, device, cache = series.stats, self._device_name(), self._cache_bytes()
        floor = self._floor(task, workload, device, cache)
        flags = [t.CLOCK_MISMATCH] if self._disagree(clocks) else []
        flags += [t.FASTER_THAN_ROOFLINE] if floor is not None and stats.median_ms < floor else []
        baselines = dict(self._baselines.stats)
        reference = baselines.get("eager") or next(iter(baselines.values()), None)
        if reference is not None and reference.median_ms > EXCESSIVE * stats.median_ms:
            flags.append(t.EXCESSIVE_SPEEDUP)
        detail = {
            "precision": workload.model.dtype,
            "regime": task.contract.precision,
            "input_sets": len(workload.sets),
            "input_bytes": workload.input_bytes,
            "output_bytes": series.kept_bytes,
            "values": "fresh in each call" if any(workload.scaled) else "the sets in turn",
            "cache_bytes": cache,
            "clocks": dict(vars(clocks)),
            "drift": drift,
            "baselines_measured": self._baselines.times_measured,
        }
        return Timing(
            **vars(stats),
            baselines=baselines,
            absent=dict(self._baselines.absent),
            flags=tuple(flags),
            device=device,
            size=workload.size,
            host_ms=clocks.host_ms,
            floor_ms=floor,
            detail=detail,
        )

    def _floor(self, task: Task, workload: Workload, device: str, cache: int) -> float | None:
        operands = self._baselines.operand_bytes
        if operands is None or self._kind == "cpu":
            return None
        outputs, parameters = operands
        # With an index among the inputs, a table of parameters need not be read as a whole.
        if any(item.kind == "index" for item in task.contract.inputs):
            parameters = 0
        return floor_ms(workload.input_bytes + outputs + parameters, cache, device)

    def _device_name(self) -> str:
        return torch.cuda.get_device_name() if self._kind == "cuda" else platform.processor() or platform.machine() or "cpu"

    def _cache_bytes(self) -> int:
        if self._kind == "cpu":
            return 0
        return int(getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "L2_cache_size", 0))

    def _answers(self, workload: Workload, checks: Sequence[Check]) -> list[Answer]:
        """The eager model's answers to the trials that were chosen, and to one of another set than the first; none without it."""
        if not checks:
            return []
        trials = [check.trial for check in checks]
        more = itertools.islice(workload.trials("another", self._baselines.sets or None), len(workload.sets) * STEPS)
        trials += [trial for trial in more if trial.chosen != trials[0].chosen][:1]
        try:
            found = self._baselines.answers(trials, workload.task.contract.precision)
        except NotTimedError:
            return []
        return [Answer(trial.chosen, seen) for trial, seen in zip(trials, found, strict=True)] if all(s.ok for s in found) else []


def _judge(checks: Sequence[Check], answers: Sequence[Answer]) -> list[str]:
    """What is wrong with each output, empty text where nothing is; those that nobody can judge are left away.

    Args:
        checks: The outputs.
        answers: The right ones in the same order, and one more; empty where there are none.
    """
    if not answers:
        return []
    found = []
    for index, check in enumerate(checks):
        if check.seen.status != "memory":  # Too large to travel: that says nothing about it.
            other = next((answer.seen for answer in answers if answer.chosen != check.trial.chosen), None)
            said = problem(answers[index].seen, other, check.seen)
            found.append(f"set {check.trial.chosen}, step {check.trial.step}: {said}" if said else "")
    return found


def _choose(batches: int, kept_bytes: int, rng: random.Random) -> set[int]:
    """The batches of which one output is judged."""
    checks = min(max(CHECKED_BYTES // max(kept_bytes, 1), 1), CHECKS, batches)
    return set(rng.sample(range(batches), checks))
