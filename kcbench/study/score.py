"""Scoring a kernel of our own in one session: the engine's survey, plan, observations and verdicts, and nothing beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kcbench.domain.observation import Observation
from kcbench.domain.probe import Probe
from kcbench.domain.task import Task
from kcbench.domain.verdict import ERROR, FAIL, NOT_APPLICABLE, Verdict
from kcbench.engine.calls import build_call, plan_context
from kcbench.engine.score import judge_gate
from kcbench.errors import KcbenchError
from kcbench.gates import Gate, JudgeContext, PlanContext, all_gates
from kcbench.oracle.oracle import TaskOracle
from kcbench.runtime import WorkerSession
from kcbench.study.local import LocalSession


def score_here(
    source: str,
    task: Task,
    oracle: TaskOracle,
    *,
    gates: Sequence[str] | None = None,
    interpreted: bool = False,
    until_refused: bool = False,
) -> tuple[Verdict, ...]:
    """Put a kernel through the gates in this process, on the CPU; see :func:`score_session`.

    Args:
        source: The kernel's source text.
        task: Its task.
        oracle: The task's oracle; the inputs follow from its seed.
        gates: Ids of the gates to judge, the guard's included; all if not given.
        interpreted: It is a Triton kernel, for the interpreter.
        until_refused: Stop at the first gate that fails. Its verdict is then the last one.

    Raises:
        KcbenchError: The kernel cannot be loaded.
    """
    with LocalSession(source, interpret=interpreted) as session:
        return score_session(session, task, oracle, gates=gates, interpreted=interpreted, until_refused=until_refused)


def score_session(
    session: WorkerSession,
    task: Task,
    oracle: TaskOracle,
    *,
    device: str = "cpu",
    gates: Sequence[str] | None = None,
    interpreted: bool = False,
    until_refused: bool = False,
) -> tuple[Verdict, ...]:
    """Put the kernel of a session through the gates.

    Nothing is compiled for other targets, so that RES-02 never applies.

    Args:
        session: A session for the kernel, in which no call was made yet.
        task: Its task.
        oracle: The task's oracle; the inputs follow from its seed.
        device: Where the session runs it: ``cpu`` or ``cuda``.
        gates: Ids of the gates to judge, the guard's included; all if not given.
        interpreted: It is a Triton kernel, for the interpreter.
        until_refused: Stop at the first gate that fails. Its verdict is then the last one.

    Returns:
        The verdicts in report order: those that the engine would give.

    Raises:
        KcbenchError: The kernel cannot be loaded.
    """
    chosen = [gate for gate in all_gates() if gates is None or gate.id in gates]
    loaded = session.load()
    if not loaded.ok:
        why = loaded.raised.message if loaded.raised is not None else loaded.detail
        raise KcbenchError(f"the kernel does not load: {why}")
    context = plan_context(task, device=device, interpreted=interpreted, redraw=True)
    run = _Run(session, context, oracle, chosen)
    return run.until_refused() if until_refused else run.verdicts()


class _Run:
    def __init__(self, session: WorkerSession, context: PlanContext, oracle: TaskOracle, gates: Sequence[Gate]) -> None:
        self.session, self.oracle, self.gates = session, oracle, gates
        self.seen: dict[str, Observation] = {}
        self.context = self._survey(context)
        unasked = context.contract.untestable
        self.plans = {gate.id: [] if gate.id in unasked else list(gate.plan(self.context)) for gate in gates}

    def _survey(self, context: PlanContext) -> PlanContext:
        """Learn from the first call whether the kernel has the task's parameters by name."""
        probe = context.probe("first call")
        seen = self._ask(probe)
        if seen.missing_parameters:
            return dataclasses.replace(context, redraw=False)
        self.seen[probe.id] = seen
        return context

    def _ask(self, probe: Probe) -> Observation:
        return self.session.call(build_call(self.oracle, probe))

    def verdicts(self) -> tuple[Verdict, ...]:
        """All probes, then all verdicts: some rules hold for every call of a run."""
        for probes in self.plans.values():
            self._observe(probes)
        return tuple(self._judge(gate) for gate in self.gates)

    def until_refused(self) -> tuple[Verdict, ...]:
        """Gate by gate, as long as none fails; then all of them again, now that every call was seen."""
        found: list[Verdict] = []
        for gate in self.gates:
            self._observe(self.plans[gate.id])
            found.append(self._judge(gate))
            if found[-1].status in (FAIL, ERROR):
                return tuple(found)
        return self.verdicts()

    def _observe(self, probes: Sequence[Probe]) -> None:
        for probe in probes:
            if probe.id not in self.seen:
                self.seen[probe.id] = self._ask(probe)

    def _judge(self, gate: Gate) -> Verdict:
        reason = self.context.contract.untestable.get(gate.id)
        if reason is not None:
            return Verdict(gate.id, NOT_APPLICABLE, reason=f"not testable: {reason}")
        # Planned probes that were not run yet are no fault of the kernel.
        probes = {probe.id: probe for planned in self.plans.values() for probe in planned if probe.id in self.seen}
        return judge_gate(gate, JudgeContext(self.context, self.seen, self.oracle, probes), self.plans[gate.id])
