"""Observations made in this process: what the eager model shows, and what it would show with a fault planted."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kcbench.domain.observation import Observation
from kcbench.domain.probe import Probe
from kcbench.domain.verdict import Verdict
from kcbench.gates import JudgeContext, PlanContext, all_gates
from kcbench.numerics.formats import decode
from kcbench.oracle.eager import record
from kcbench.oracle.oracle import TaskOracle
from kcbench.tasks import load_task

Fault = Callable[[Probe, dict[str, Tensor], tuple[Tensor, ...]], "tuple[Tensor, ...] | Observation"]


@functools.cache
def oracle_of(task_id: str) -> TaskOracle:
    return TaskOracle(load_task(task_id), seed="tests")


def observed(oracle: TaskOracle, probe: Probe, fault: Fault | None = None) -> Observation:
    """The eager model's observation of a probe, with the outputs replaced by what ``fault`` makes of them."""
    seen = oracle.eager(probe)
    if fault is not None and seen.ok:
        operands = {
            **oracle.inputs(probe),
            **{f"parameter:{name}": value for name, value in (oracle.parameters(probe) or {}).items()},
        }
        changed = fault(probe, operands, tuple(decode(item) for item in seen.outputs))
        if isinstance(changed, Observation):
            return changed
        seen = dataclasses.replace(seen, outputs=tuple(record(item) for item in changed))
    digest = hashlib.sha256(b"".join(item.data for item in seen.outputs)).hexdigest()
    return dataclasses.replace(seen, repeats=(digest,) * probe.world.repeats)


def judge_gate(gate_id: str, task_id: str, fault: Fault | None = None, **changes: object) -> Verdict:
    """One gate's verdict on the eager model of a task, with or without a fault."""
    gate = next(gate for gate in all_gates() if gate.id == gate_id)
    oracle = oracle_of(task_id)
    plan = PlanContext(oracle.task.contract)
    probes = list(gate.plan(plan))
    observations = {probe.id: observed(oracle, probe, fault) for probe in probes}
    context = JudgeContext(plan, observations, oracle, {probe.id: probe for probe in probes})
    return gate.judge(dataclasses.replace(context, **changes), probes)


@pytest.fixture
def judge() -> Callable[..., Verdict]:
    """``judge(gate id, task id, fault, **context changes)``."""
    return judge_gate


@pytest.fixture
def oracles() -> Callable[[str], TaskOracle]:
    """The oracle of a task, shared by all tests of a process."""
    return oracle_of


torch.set_num_threads(1)
