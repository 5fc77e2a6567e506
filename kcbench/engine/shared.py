"""What all submissions of a task share in a run: its oracle, its eager model, its legacy trials."""

from __future__ import annotations

import dataclasses
import math
import threading

from kcbench.domain.observation import Observation
from kcbench.domain.probe import Probe
from kcbench.domain.task import Task
from kcbench.engine.calls import build_call
from kcbench.engine.options import Options
from kcbench.engine.timekeeper import Timekeeper
from kcbench.legacy import kernelbench
from kcbench.oracle.oracle import TaskOracle
from kcbench.runtime import Call, WorkerPool


class Shared:
    """What the submissions of a run share, made on first use and dropped with the last submission of a task."""

    def __init__(self, options: Options, tasks: dict[str, Task], pool: WorkerPool) -> None:
        self.options = options
        self.tasks = tasks
        self._pool = pool
        self._lock = threading.RLock()
        self._eager: dict[str, EagerModel] = {}
        self._oracles: dict[str, TaskOracle] = {}
        self._trials: dict[str, kernelbench.Trials] = {}
        self.timekeeper = Timekeeper(pool, seed=options.seed, names=options.timing)

    def eager(self, task: Task) -> EagerModel:
        with self._lock:
            if task.id not in self._eager:
                self._eager[task.id] = EagerModel(task, self._pool)
            return self._eager[task.id]

    def oracle(self, task: Task) -> TaskOracle:
        with self._lock:
            if task.id not in self._oracles:
                on_gpu = self.options.device == "cuda"
                oracle = TaskOracle(
                    task,
                    seed=self.options.seed,
                    run_eager=(lambda *asked: self.eager(task).probe(*asked)) if on_gpu else None,
                )
                self._oracles[task.id] = self.eager(task).oracle = oracle
            return self._oracles[task.id]

    def trials(self, task: Task) -> kernelbench.Trials:
        with self.eager(task).lock:
            if task.id not in self._trials:
                on_gpu = self.options.device == "cuda"
                self._trials[task.id] = kernelbench.trials(task, reduced=not on_gpu, ask=self.eager(task).call)
            return self._trials[task.id]

    def forget(self, task_id: str) -> None:
        """Let go of a task: a run over hundreds of them holds a few at a time."""
        with self._lock:
            self._oracles.pop(task_id, None)
            self._trials.pop(task_id, None)
            model = self._eager.pop(task_id, None)
        if model is not None:
            model.close()
        self.timekeeper.forget(task_id)


class EagerModel:
    """The task's own model in a worker: it meets the device exactly as a submission does."""

    oracle: TaskOracle

    def __init__(self, task: Task, pool: WorkerPool) -> None:
        # The eager model is trusted to end, and a broken device context is its business, not ours: it starts again as often as
        # it takes.
        limits = dataclasses.replace(pool.limits, total_seconds=math.inf, max_restarts=1 << 20)
        self._session = pool.open(task.code, entry="Model", limits=limits, trusted=True)
        self.lock = threading.RLock()

    def call(self, call: Call) -> Observation:
        with self.lock:
            return self._session.call(call)

    def close(self) -> None:
        with self.lock:
            self._session.close()

    def probe(self, probe: Probe, repeats: int, dtype: str) -> Observation:
        plain = dataclasses.replace(probe.world, repeats=repeats, disturb=(), stream="default", instance="shared")
        return self.call(build_call(self.oracle, dataclasses.replace(probe, world=plain), dtype))
