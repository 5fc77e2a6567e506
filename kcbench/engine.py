"""Plan, run, judge: scores submissions and hands back results.

The engine asks every gate for its probes, runs each distinct probe once in the submission's worker, and gives the observations back to
the gates. What depends on the task only (truth, noise, eager behaviour, legacy trials) is made once and shared.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import torch

from kcbench import __version__
from kcbench.domain import verdict as v
from kcbench.domain.observation import Launch, Observation
from kcbench.domain.probe import Probe
from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.submission import Submission
from kcbench.domain.task import Task
from kcbench.domain.verdict import Verdict
from kcbench.errors import KcbenchError, MissingExtraError
from kcbench.gates import Gate, JudgeContext, PlanContext, all_gates
from kcbench.legacy import kernelbench
from kcbench.oracle.draw import MODEL_SEED
from kcbench.oracle.module import task_module
from kcbench.oracle.oracle import TaskOracle
from kcbench.runtime import Call, Limits, ModelSpec, ScalarArg, TensorArg, WorkerPool, WorkerSession
from kcbench.runtime.tier import sandbox_tier
from kcbench.tasks import load_task

LEGACY = tuple(kernelbench.TOLERANCES)


@dataclass(frozen=True)
class Options:
    """How a run is made. Everything that can change a verdict is in :meth:`key`."""

    seed: str
    """Secret of the run: all inputs follow from it."""
    device: str = "cpu"
    """``cpu`` or ``cuda``."""
    jobs: int = 1
    bounds: str = "stochastic"
    gates: tuple[str, ...] = ()
    """Gate ids to judge; empty means all."""
    legacy: tuple[str, ...] = LEGACY
    limits: Limits = field(default_factory=Limits)

    def key(self, task: Task, submission: Submission) -> str:
        """Digest of what a result depends on: resume skips results whose key is in the journal."""
        parts = [
            __version__,
            task.digest,
            submission.id,
            submission.digest,
            submission.entry,
            self.seed,
            self.device,
            self.bounds,
            ",".join(self.gates),
            ",".join(self.legacy),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Event:
    """Progress: ``started`` or ``finished`` for one submission."""

    kind: str
    submission: Submission
    result: Result | None = None


def resolve_device(wanted: str) -> str:
    """``auto``, ``cpu`` or ``cuda`` to what this machine has.

    Raises:
        KcbenchError: ``cuda`` was asked for and torch sees no GPU.
    """
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        raise KcbenchError("torch sees no GPU", where="--device cuda", fix="use --device cpu, or install a CUDA build of torch")
    if wanted not in ("cpu", "cuda"):
        raise KcbenchError(f"unknown device {wanted!r}", where="--device", fix="use auto, cpu or cuda")
    return wanted


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
    from kcbench.suites.folder import parse_submission

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
    seen = set(done)
    todo = [item for item in submissions if item.problem or options.key(loaded[item.task], item) not in seen]
    lock = threading.Lock()
    results: list[Result] = []

    def announce(event: Event) -> None:
        with lock:
            on_event(event)

    with WorkerPool(device=options.device, limits=options.limits, slots=options.jobs) as pool:
        shared = _Shared(options, loaded)

        def one(item: Submission) -> None:
            if stop is not None and stop.is_set():
                return
            announce(Event("started", item))
            result = _score(item, options, shared, pool)
            with lock:
                results.append(result)
                on_event(Event("finished", item, result))

        with ThreadPoolExecutor(max_workers=options.jobs) as threads:
            futures = [threads.submit(one, item) for item in todo]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
    return results


def _require_triton() -> None:
    import importlib.util

    if importlib.util.find_spec("triton") is None:
        raise MissingExtraError("triton", "triton")


class _Shared:
    """What all submissions of a run share, made on first use."""

    def __init__(self, options: Options, tasks: dict[str, Task]) -> None:
        self.options = options
        self.tasks = tasks
        self._lock = threading.RLock()
        self._oracles: dict[str, TaskOracle] = {}
        self._trials: dict[tuple[str, bool], list[kernelbench.Trial]] = {}

    def oracle(self, task: Task) -> TaskOracle:
        with self._lock:
            if task.id not in self._oracles:
                self._oracles[task.id] = TaskOracle(task, seed=self.options.seed, device=self.options.device)
            return self._oracles[task.id]

    def trials(self, task: Task, reduced: bool) -> list[kernelbench.Trial]:
        with self._lock:
            key = task.id, reduced
            if key not in self._trials:
                self._trials[key] = kernelbench.trials(task, device=self.options.device, reduced=reduced)
            return self._trials[key]


def _score(item: Submission, options: Options, shared: _Shared, pool: WorkerPool) -> Result:
    start = time.perf_counter()
    if item.problem:
        return Result(_problem_key(item, options), item.to_json(), "unloadable", item.problem, labels=(item.language,))
    task = shared.tasks[item.task]
    key = options.key(task, item)
    try:
        return _Run(item, task, key, options, shared, pool).score(start)
    except KcbenchError:
        raise
    except Exception as error:  # A fault of the harness must not end the run of the others.
        import traceback

        reason = f"{type(error).__name__}: {error}"
        environment = {"traceback": traceback.format_exc(limit=8)}
        return Result(key, item.to_json(), "error", reason, environment=environment, timings={"total": time.perf_counter() - start})


def _problem_key(item: Submission, options: Options) -> str:
    return hashlib.sha256(json.dumps([__version__, item.id, item.digest, item.problem, options.seed]).encode()).hexdigest()


class _Run:
    """One submission on its way through plan, run and judge."""

    def __init__(self, item: Submission, task: Task, key: str, options: Options, shared: _Shared, pool: WorkerPool) -> None:
        self.item, self.task, self.key, self.options, self.shared, self.pool = item, task, key, options, shared, pool
        self.interpreted = options.device == "cpu" and item.language == "triton"
        self.oracle = shared.oracle(task)
        self.timings: dict[str, float] = {}
        self.gates = [gate for gate in all_gates() if not options.gates or gate.id in options.gates]

    def score(self, start: float) -> Result:
        if self.item.language == "cuda" and self.options.device != "cuda":
            return self._result("error", "an inline CUDA kernel needs a GPU", start=start)
        with self.pool.open(self.item.source, entry=self.item.entry, interpret=self.interpreted) as session:
            loaded = session.load()
            self._clock("load", start)
            if loaded.status != "ok":
                raised = loaded.raised
                first = raised.message.strip().splitlines()[0] if raised and raised.message.strip() else ""
                reason = f"{raised.type}: {first}" if raised else loaded.detail or loaded.status
                legacy = tuple(LegacyScore(check, False, False, reason=reason) for check in self.options.legacy)
                return self._result("unloadable", f"the import failed: {reason}", legacy=legacy, start=start)
            legacy = self._legacy(session)
            context, observations = self._survey(session)
            plans = {gate.id: list(gate.plan(context)) for gate in self.gates}
            self._observe(session, plans, observations)
            mark = time.perf_counter()
            launches = tuple(session.compile(TARGETS)) if self.item.language != "torch" else ()
            self._clock("compile", mark)
        verdicts = self._judge(context, plans, observations, launches)
        return self._result("scored", "", legacy=legacy, verdicts=verdicts, redraw=context.redraw, start=start)

    def _clock(self, name: str, since: float) -> None:
        self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - since

    # Legacy

    def _legacy(self, session: WorkerSession) -> tuple[LegacyScore, ...]:
        if not self.options.legacy:
            return ()
        mark = time.perf_counter()
        reduced = self.options.device == "cpu"
        made = self.shared.trials(self.task, reduced)
        names = tuple(f"arg{index}" for index in range(len(made[0].inputs)))
        seen: list[Observation] = []
        for trial in made:
            model = ModelSpec(trial.init, self.task.contract.dtypes[0], kernelbench.SEED, "legacy")
            args = tuple(TensorArg(x.contiguous()) if isinstance(x, torch.Tensor) else ScalarArg(x) for x in trial.inputs)
            seen.append(session.call(Call(model, names, args, seed=trial.seed)))
            if not seen[-1].ok:
                break
        self._clock("legacy", mark)
        return tuple(kernelbench.judge(check, self.task, made, seen, reduced=reduced) for check in self.options.legacy)

    # Plan and run

    def _survey(self, session: WorkerSession) -> tuple[PlanContext, dict[str, Observation]]:
        """Learn from the first call whether the submission exposes the task's parameters by name."""
        contract, packs = self.task.contract, self.item.packs_weights
        module = task_module(self.task, None)
        full = {name: getattr(module, name) for name in contract.axes if isinstance(getattr(module, name, None), int)}
        context = PlanContext(contract, self.options.device, self.interpreted, not packs, full)
        probe = context.probe("first call")
        seen = session.call(self._call(probe))
        if context.redraw and seen.missing_parameters:
            return dataclasses.replace(context, redraw=False), {}
        return context, {probe.id: seen}

    def _call(self, probe: Probe) -> Call:
        contract, world = self.task.contract, probe.world
        inputs = self.oracle.inputs(probe)
        wanted = self.oracle.gradient_names(probe) if probe.gradient else ()
        over_inputs = tuple(name.removeprefix("input:") for name in wanted if name.startswith("input:"))
        args = tuple(
            TensorArg(value, world.layouts.get(name, "contiguous"), name in over_inputs) if isinstance(value, torch.Tensor) else ScalarArg(value)
            for name, value in inputs.items()
        )
        return Call(
            model=ModelSpec(contract.init_args(probe.axes), probe.dtype, MODEL_SEED, world.instance),
            names=tuple(inputs),
            args=args,
            parameters=self.oracle.parameters(probe),
            repeats=world.repeats,
            disturb=world.disturb,
            stream=world.stream,
            gradients=over_inputs,
            parameter_gradients=tuple(name.removeprefix("parameter:") for name in wanted if name.startswith("parameter:")),
            cotangents=self.oracle.cotangents(probe) if probe.gradient else (),
        )

    def _observe(self, session: WorkerSession, plans: dict[str, list[Probe]], observations: dict[str, Observation]) -> None:
        """Run every probe that was not run yet, in the order of the gates."""
        for gate, probes in plans.items():
            mark = time.perf_counter()
            for probe in probes:
                if probe.id not in observations:
                    observations[probe.id] = session.call(self._call(probe))
            self._clock(f"run {gate}", mark)

    # Judge

    def _judge(
        self, plan: PlanContext, plans: dict[str, list[Probe]], observations: dict[str, Observation], launches: tuple[Launch, ...]
    ) -> tuple[Verdict, ...]:
        context = JudgeContext(plan, observations, self.oracle, launches, self._targets(), self.options.bounds)
        verdicts = []
        for gate in self.gates:
            mark = time.perf_counter()
            verdicts.append(_judge_one(gate, context, plans[gate.id]))
            self._clock(f"judge {gate.id}", mark)
        return tuple(verdicts)

    def _targets(self) -> tuple[str, ...]:
        declared = tuple(part.strip() for part in self.item.header.get("targets", "").split(",") if part.strip())
        if declared or self.options.device != "cuda":
            return declared
        major, minor = torch.cuda.get_device_capability()
        return (f"sm_{major}{minor}",)

    def _result(
        self,
        status: str,
        reason: str,
        *,
        start: float,
        legacy: tuple[LegacyScore, ...] = (),
        verdicts: tuple[Verdict, ...] = (),
        redraw: bool = True,
    ) -> Result:
        labels = [self.item.language]
        labels += ["interpreted"] if self.interpreted else []
        labels += ["packs-weights"] if self.item.packs_weights else []
        labels += ["seeded-weights"] if not redraw and not self.item.packs_weights else []
        labels += ["partial"] if self.options.gates else []
        self._clock("total", start)
        return Result(
            self.key, self.item.to_json(), status, reason, legacy, verdicts, tuple(labels), self._environment(), dict(self.timings)
        )

    def _environment(self) -> dict[str, Any]:
        name = torch.cuda.get_device_name() if self.options.device == "cuda" else "cpu"
        return {
            "device": self.options.device,
            "device_name": name,
            "interpreted": self.interpreted,
            "sandbox": sandbox_tier(),
            "seed": self.options.seed,
            "bounds": self.options.bounds,
            "kcbench": __version__,
            "torch": torch.__version__,
        }


TARGETS = ("sm_80", "sm_90", "sm_100")
"""What Triton kernels are compiled for when their resources are read."""


def _judge_one(gate: Gate, context: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """A gate's verdict; an exception inside the gate is the harness's own ERROR, never a PASS or a FAIL."""
    try:
        return gate.judge(context, probes)
    except Exception as error:
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(gate.id, v.ERROR, reason=f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})")
