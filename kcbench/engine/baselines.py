"""The eager model's own timing: what a submission's is held against.

Measured once for the submissions of a task, in trusted workers that stay as they are, warm and with their inputs in place. With
each submission a few calls of the first baseline are made before, between and after its batches. Where these say that the machine
has become faster or slower since (clocks move with temperature), all baselines are measured again on the spot: a speedup never
compares times of two different states of the card.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

from kcbench.domain.observation import Observation
from kcbench.domain.timing import Stats
from kcbench.engine.series import Effort, Series
from kcbench.engine.workload import Workload
from kcbench.runtime import WorkerPool, WorkerSession
from kcbench.runtime.stopwatch import NotTimedError, Stopwatch, Trial

DRIFT = 0.05
"""Largest relative change that is put up with."""
GLANCE_CALLS, GLANCE_SECONDS = 5, 0.3
"""Calls of one look at the first baseline, and about how long it may take."""
COMPILE_SECONDS = 300.0
COMPILED = """

import torch as _torch
import torch._inductor.config as _config

# The pool of compiler processes would outlive the call, and torch starts it by a fork of its own.
_config.compile_threads = 1


def Compiled(*args):
    return _torch.compile(Model(*args))
"""
"""Appended to a task's code for the baseline ``compile``."""


class Baselines:
    """The baselines of one task at a time. For one thread at a time.

    Args:
        pool: Where workers come from.
        names: Which baselines, of :data:`kcbench.engine.BASELINES`.
        effort: How much time each may take.
    """

    def __init__(self, pool: WorkerPool, names: Sequence[str], effort: Effort) -> None:
        self._pool, self._names, self._effort = pool, names, effort
        self._workload: Workload | None = None
        self._sessions: list[WorkerSession] = []
        self._eager: tuple[Stopwatch, int] | NotTimedError = NotTimedError("not opened")
        self._series: dict[str, Series] = {}
        self.stats: dict[str, Stats] = {}
        """By name, once measured."""
        self.absent: dict[str, str] = {}
        """Those that cannot be measured, with the reason."""
        self.times_measured = 0

    def prepare(self, workload: Workload) -> None:
        """Bring up workers for a task, and make their first calls. Others may use the device meanwhile."""
        if self._workload is workload:
            return
        self.close()
        self._workload = workload
        self._eager = self._open(workload, workload.task.code, "Model")
        for name in self._names:
            try:
                if name == "eager-tf32" and self._pool.device == "cpu":
                    raise NotTimedError("a CPU has no tf32")
                compiled = name == "compile"
                found = self._open(workload, workload.task.code + COMPILED, "Compiled") if compiled else self._eager
                if isinstance(found, NotTimedError):
                    raise found
                stopwatch, sets = found
                regime = "tf32" if name == "eager-tf32" else "ieee"
                series = Series(stopwatch.with_regime(regime), workload.trials(name, sets), self._effort)
                series.first(COMPILE_SECONDS if compiled else None)
                self._series[name] = series
            except NotTimedError as error:
                self.absent[name] = str(error)

    def _open(self, workload: Workload, source: str, entry: str) -> tuple[Stopwatch, int] | NotTimedError:
        """A stopwatch with the inputs in place, and how many sets there was room for; or why there is none."""
        limits = dataclasses.replace(self._pool.limits, total_seconds=math.inf)
        session = self._pool.open(source, entry=entry, limits=limits, trusted=True)
        self._sessions.append(session)
        stopwatch = Stopwatch(session, workload.model, "ieee")
        try:
            return stopwatch, stopwatch.stage(workload.sets, workload.scaled)
        except NotTimedError as error:
            return error

    @property
    def sets(self) -> int:
        """Input sets that the eager model has, for :meth:`answers`; 0 where it does not run."""
        return 0 if isinstance(self._eager, NotTimedError) else self._eager[1]

    def answers(self, trials: Sequence[Trial], regime: str) -> list[Observation]:
        """What the eager model returns for some trials.

        Args:
            trials: Trials with one of the first :attr:`sets` sets.
            regime: How its float32 products are made.

        Raises:
            NotTimedError: It does not run.
        """
        if isinstance(self._eager, NotTimedError):
            raise self._eager
        stopwatch = self._eager[0].with_regime(regime)
        found = []
        for trial in trials:
            # One at a time: a batch would keep all of them on the device.
            stopwatch.run([trial])
            found.append(stopwatch.output(0))
        return found

    def measure(self) -> None:
        """Measure where that was not done yet; the caller has the device to itself."""
        if self.stats or not self._series:
            return
        self.times_measured += 1
        for name, series in list(self._series.items()):
            try:
                series.forget()
                series.warm_up()
                batches, calls = series.size
                for _ in range(batches):
                    series.round(calls)
                self.stats[name] = series.stats
            except NotTimedError as error:
                self.absent[name] = str(error)
                del self._series[name]

    def glance(self) -> list[float]:
        """Look at the first baseline for a moment; milliseconds of a few calls."""
        series = next(iter(self._series.values()), None)
        known = next(iter(self.stats.values()), None)
        if series is None or known is None:
            return []
        calls = min(GLANCE_CALLS, max(int(GLANCE_SECONDS * 1e3 / max(known.median_ms, 1e-3)), 1))
        try:
            return series.glance(calls)
        except NotTimedError:
            return []

    def renew(self, glances: Sequence[float]) -> float | None:
        """Measure again where the first baseline's time has changed.

        Args:
            glances: What :meth:`glance` has seen while the submission was timed.

        Returns:
            How the time had changed: 1.0 is not at all; None where that cannot be told.
        """
        known = next(iter(self.stats.values()), None)
        if known is None or not glances or known.median_ms <= 0:
            return None
        drift = statistics.median(glances) / known.median_ms
        if abs(drift - 1) > DRIFT:
            self.stats = {}
            self.measure()
        return drift

    @property
    def operand_bytes(self) -> tuple[int, int] | None:
        """Bytes of the eager model's outputs and of its parameters; None where no baseline runs."""
        series = next(iter(self._series.values()), None)
        return None if series is None else (series.kept_bytes, series.state_bytes)

    def close(self) -> None:
        """End the workers, and forget the task."""
        for session in self._sessions:
            session.close()
        self._sessions, self._series, self._workload = [], {}, None
        self.stats, self.absent = {}, {}
