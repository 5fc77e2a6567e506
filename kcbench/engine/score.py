"""One submission on its way through plan, run and judge."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
import traceback
from collections.abc import Sequence
from typing import Any

import torch

from kcbench import __version__
from kcbench.domain import verdict as v
from kcbench.domain.observation import Launch, Observation, Raised
from kcbench.domain.probe import Probe
from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.submission import Submission
from kcbench.domain.task import Task
from kcbench.domain.verdict import Verdict
from kcbench.engine.calls import build_call, plan_context
from kcbench.engine.needs_gpu import needs_gpu
from kcbench.engine.options import Options
from kcbench.engine.shared import Shared
from kcbench.errors import KcbenchError
from kcbench.gates import Gate, JudgeContext, PlanContext, all_gates
from kcbench.legacy import kernelbench
from kcbench.runtime import WorkerPool, WorkerSession
from kcbench.runtime.build import cannot_build
from kcbench.runtime.stopwatch import NotTimedError, reason_of
from kcbench.runtime.tier import sandbox_tier

TARGETS = ("sm_80", "sm_90", "sm_100")
"""What Triton kernels are compiled for when their resources are read."""


def score(item: Submission, options: Options, shared: Shared, pool: WorkerPool) -> Result:
    """Score one submission; whatever it does, and whatever goes wrong here, becomes its result.

    Args:
        item: The submission.
        options: How the run is made.
        shared: What the submissions of the run share.
        pool: Where workers come from.

    Raises:
        KcbenchError: The run as a whole cannot go on.
    """
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
        reason = f"{type(error).__name__}: {error}"
        environment = {"traceback": traceback.format_exc(limit=8)}
        return Result(
            key, item.to_json(), "error", reason, environment=environment, timings={"total": time.perf_counter() - start}
        )


def _problem_key(item: Submission, options: Options) -> str:
    return hashlib.sha256(json.dumps([__version__, item.id, item.digest, item.problem, options.seed]).encode()).hexdigest()


class _Run:
    def __init__(self, item: Submission, task: Task, key: str, options: Options, shared: Shared, pool: WorkerPool) -> None:
        self.item, self.task, self.key, self.options, self.shared, self.pool = item, task, key, options, shared, pool
        self.interpreted = options.device == "cpu" and item.language == "triton"
        self.oracle = shared.oracle(task)
        self.timings: dict[str, float] = {}
        self.unanswered = ""
        self.raised: Raised | None = None
        """What left the submission in its first call, if something did."""
        self.unlaunched = False
        """Whether it speaks of Triton kernels, and calls that gave results launched none."""
        self.gates = [gate for gate in all_gates() if not options.gates or gate.id in options.gates]

    def score(self, start: float) -> Result:
        if self.item.language == "cuda" and self.options.device != "cuda":
            return self._result("skipped", "an inline CUDA kernel needs a GPU", start=start)
        builds = self.item.language == "cuda"
        if builds and cannot_build():
            return self._result("skipped", cannot_build(), start=start)
        with self.pool.open(self.item.source, entry=self.item.entry, interpret=self.interpreted, builds=builds) as session:
            loaded = session.load()
            self._clock("load", start)
            if loaded.status != "ok":
                raised = loaded.raised
                first = raised.message.strip().splitlines()[0] if raised and raised.message.strip() else ""
                reason = f"{raised.type}: {first}" if raised else loaded.detail or loaded.status
                if self.options.device == "cpu" and needs_gpu(raised):
                    return self._result("skipped", f"its import needs a GPU: {reason}", start=start)
                legacy = tuple(LegacyScore(check, False, False, reason=reason) for check in self.options.legacy)
                return self._result("unloadable", f"the import failed: {reason}", legacy=legacy, start=start)
            legacy = self._legacy(session)
            context, observations = self._survey(session)
            if self.options.device == "cpu" and needs_gpu(self.raised):
                return self._result("skipped", "the kernel refuses tensors that are not on a GPU", start=start)
            unasked = self.task.contract.untestable
            plans = {gate.id: [] if gate.id in unasked else list(gate.plan(context)) for gate in self.gates}
            self._observe(session, plans, observations)
            mark = time.perf_counter()
            # A file without a kernel of its own may bring compiled code, but what `torch.compile` launches is not its own.
            launches = tuple(session.compile(() if self.item.language == "torch" else TARGETS))
            self._clock("compile", mark)
            answered = any(seen.ok for seen in observations.values())
            self.unlaunched = self.item.language == "triton" and answered and not launches
            timed = self._timed(session)
        verdicts = self._judge(context, plans, observations, launches)
        result = self._result("scored", "", legacy=legacy, verdicts=verdicts, redraw=context.redraw, start=start)
        return dataclasses.replace(result, **timed)

    def _timed(self, session: WorkerSession) -> dict[str, Any]:
        """The fields of the result about timing. It comes last, so that nothing in it can move a verdict."""
        if not self.options.timing:
            return {}
        if self.interpreted:
            return {"untimed": "the speed of Triton's interpreter says nothing about the kernel"}
        if self.unanswered:
            return {"untimed": f"a legacy trial was not answered: {self.unanswered}"}
        mark = time.perf_counter()
        try:
            return {"timing": self.shared.timekeeper.measure(self.item, self.task, session)}
        except NotTimedError as error:
            return {"untimed": str(error)}
        except Exception as error:  # The verdicts stand, whatever goes wrong here.
            return {"untimed": f"the harness failed: {type(error).__name__}: {error}"}
        finally:
            self._clock("timing", mark)

    def _clock(self, name: str, since: float) -> None:
        self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - since

    # Legacy

    def _legacy(self, session: WorkerSession) -> tuple[LegacyScore, ...]:
        if not self.options.legacy:
            return ()
        mark = time.perf_counter()
        made = self.shared.trials(self.task)
        seen: list[Observation] = []
        for trial in made.trials:
            seen.append(session.call(trial.call))
            if not seen[-1].ok:
                self.unanswered, self.raised = reason_of(seen[-1]), seen[-1].raised
                break
        self._clock("legacy", mark)
        return kernelbench.judge(self.options.legacy, self.task, made, seen)

    # Plan and run

    def _survey(self, session: WorkerSession) -> tuple[PlanContext, dict[str, Observation]]:
        """Learn from the first call whether the submission exposes the task's parameters by name."""
        context = plan_context(
            self.task, device=self.options.device, interpreted=self.interpreted, redraw=not self.item.packs_weights
        )
        context = dataclasses.replace(context, packs=self.item.packs_weights)
        probe = context.probe("first call")
        seen = session.call(build_call(self.oracle, probe))
        self.raised = self.raised or seen.raised
        if context.redraw and seen.missing_parameters:
            return dataclasses.replace(context, redraw=False), {}
        return context, {probe.id: seen}

    def _observe(self, session: WorkerSession, plans: dict[str, list[Probe]], observations: dict[str, Observation]) -> None:
        """Run every probe that was not run yet, in the order of the gates."""
        for gate, probes in plans.items():
            mark = time.perf_counter()
            for probe in probes:
                if probe.id not in observations:
                    observations[probe.id] = session.call(build_call(self.oracle, probe))
            self._clock(f"run {gate}", mark)

    # Judge

    def _judge(
        self, plan: PlanContext, plans: dict[str, list[Probe]], observations: dict[str, Observation], launches: tuple[Launch, ...]
    ) -> tuple[Verdict, ...]:
        probes = {probe.id: probe for planned in plans.values() for probe in planned}
        context = JudgeContext(plan, observations, self.oracle, probes, launches, self._targets(), self.options.bounds)
        verdicts = []
        for gate in self.gates:
            reason = plan.contract.untestable.get(gate.id)
            if reason is not None:
                verdicts.append(Verdict(gate.id, v.NOT_APPLICABLE, reason=f"not testable: {reason}"))
                continue
            mark = time.perf_counter()
            verdicts.append(judge_gate(gate, context, plans[gate.id]))
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
        labels += ["unlaunched"] if self.unlaunched else []
        labels += ["partial"] if self.options.gates else []
        self._clock("total", start)
        return Result(
            self.key,
            self.item.to_json(),
            status,
            reason,
            legacy,
            verdicts,
            tuple(labels),
            self._environment(),
            dict(self.timings),
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


def judge_gate(gate: Gate, context: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """A gate's verdict; an exception inside the gate is the harness's own ERROR, never a PASS or a FAIL."""
    try:
        return gate.judge(context, probes)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(gate.id, v.ERROR, reason=f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})")
