"""Replay: the calls behind a finding, made again from what a result records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kcbench.domain.probe import Probe
from kcbench.domain.result import Result
from kcbench.domain.task import Task
from kcbench.domain.verdict import Finding
from kcbench.engine.calls import plan_context
from kcbench.errors import KcbenchError
from kcbench.gates import all_gates
from kcbench.oracle.draw import call_json
from kcbench.oracle.oracle import TaskOracle
from kcbench.report.store import RunFolder, problem_name


class Replay:
    """Makes calls of one run again. What submissions of one task share is made once.

    Args:
        folder: The run, which stays open meanwhile.
        root: Folder that holds the tasks of the run; by default the data that came with kcbench.
    """

    def __init__(self, folder: RunFolder, root: Path | None = None) -> None:
        self._folder = folder
        self._root = root
        self._tasks: dict[str, Task] = {}
        self._oracles: dict[str, TaskOracle] = {}
        self._plans: dict[tuple[str, str, bool, bool], dict[str, Probe]] = {}

    def task(self, result: Result) -> Task:
        """The task of a result, as it was when it was scored.

        Raises:
            KcbenchError: It cannot be found, or has changed since.
        """
        if result.task not in self._tasks:
            task = self._find(result)
            if self._folder.header["tasks"].get(task.id) != task.digest:
                what = f"the task {task.id} has changed since the run"
                raise KcbenchError(what, where=result.id, fix="run kcbench eval again")
            self._tasks[result.task] = task
        return self._tasks[result.task]

    def calls(self, result: Result, finding: Finding) -> list[dict[str, Any]]:
        """The calls that led to a finding, as a script of :mod:`kcbench.report.repro` makes them again.

        Raises:
            KcbenchError: The task cannot be found or has changed, or the gates plan other probes than in the run.
        """
        task = self.task(result)
        seed = str(self._folder.header["seed"])
        probes = self._probes(result, task)
        oracle = self._oracles.setdefault(task.id, TaskOracle(task, seed=seed))
        calls = []
        for name in finding.probes:
            probe = probes.get(name)
            if probe is None:
                raise KcbenchError("this kcbench plans other probes than the run", where=result.id, fix="run kcbench eval again")
            outputs = tuple(tuple(item.shape) for item in oracle.truth(probe)) if probe.gradient else ()
            calls.append(call_json(task.contract, probe, oracle.parameter_specs(probe), seed, outputs))
        return calls

    def _find(self, result: Result) -> Task:
        from kcbench.suites.folder import source_text
        from kcbench.tasks import load_task

        path = self._folder.path / problem_name(result.task)
        if not path.is_file():
            return load_task(result.task, self._root)
        from kcbench.infer import task_of_problem

        code, problem = source_text(path)
        if problem:
            raise KcbenchError(problem, where=str(path))
        return task_of_problem(code, task_id=result.task)

    def _probes(self, result: Result, task: Task) -> dict[str, Probe]:
        """All probes that were planned for a submission, by id: planning is a pure function of what the result records."""
        redraw = not {"packs-weights", "seeded-weights"} & set(result.labels)
        device, interpreted = str(result.environment["device"]), "interpreted" in result.labels
        known = (task.id, device, interpreted, redraw)
        if known not in self._plans:
            context = plan_context(task, device=device, interpreted=interpreted, redraw=redraw)
            self._plans[known] = {probe.id: probe for gate in all_gates() for probe in gate.plan(context)}
        return self._plans[known]
