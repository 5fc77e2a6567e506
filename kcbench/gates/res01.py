"""RES-01, residency: the work stays on the device, on the current stream, within the memory that the contract grants."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kcbench.domain.observation import Observation
from kcbench.domain.probe import Probe, World
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext
from kcbench.gates.compare import FAILED, PASSED, SKIPPED, Check, conclude, reachable, where
from kcbench.gates.value import check_value

SLACK = 64 << 20
"""Bytes granted to every call beside the contract's factor: allocator rounding, and cuBLAS's 32 MiB workspace on Hopper."""


def plan(ctx: PlanContext) -> list[Probe]:
    """An ordinary call, and on a GPU one under a side stream whose inputs are still being written."""
    # The least of two calls counts for memory: the first may set libraries up, cuBLAS with 32 MiB of workspace.
    twice = World(repeats=2)
    probes = [ctx.probe("ordinary call", stream="res01", world=twice)]
    if ctx.device == "cuda":
        probes.append(ctx.probe("legacy size", axes=ctx.contract.legacy_sizes(), stream="res01/legacy", world=twice))
        side = ctx.probe("side stream", stream="res01/side", world=World(stream="side"))
        probes += [_default_stream(side), side]
    return probes


def _default_stream(probe: Probe) -> Probe:
    return dataclasses.replace(probe, label="default stream", world=World())


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Outputs on the inputs' device, no copies to the host, current stream respected, peak memory within the contract."""
    findings: dict[str, Finding] = {}
    checks: list[Check] = []
    for probe in probes:
        gone = reachable(ctx, probe)
        if gone is not None:
            # An exception in an ordinary call is told by the gates that ask for values; only here is a side stream used.
            if gone.status == FAILED and probe.world.stream == "side" and ctx.seen(_default_stream(probe)).ok:
                text = f"the call fails under another stream than the default one: {gone.reason}"
                findings.setdefault("stream", dataclasses.replace(gone.finding("stream"), summary=text))
                checks.append(gone)
            else:
                checks.append(Check(probe, SKIPPED, gone.reason))
            continue
        before = len(findings)
        for code, kind, text, facts in _problems(ctx, probe, ctx.seen(probe)):
            findings.setdefault(
                code, Finding(code, text, True, (probe.id,), {**where(probe), "kind": kind, "message": text, **facts})
            )
        checks.append(Check(probe, PASSED if len(findings) == before else FAILED))
    if ctx.plan.device != "cuda" and not findings:
        return Verdict.of("RES-01", (), checks=0, reason="residency, streams and device memory exist on a GPU only")
    return conclude("RES-01", list(findings.values()), checks, nothing="no call came back")


def _problems(ctx: JudgeContext, probe: Probe, seen: Observation) -> list[tuple[str, str, str, dict[str, object]]]:
    eager = ctx.oracle.eager(probe)
    problems: list[tuple[str, str, str, dict[str, object]]] = []
    home = [record.device for record in eager.outputs]
    for index, record in enumerate(seen.outputs):
        if index < len(home) and record.device != home[index]:
            text = f"output {index} is on {record.device} although the inputs are on {home[index]}"
            problems.append(("device", "device", text, {"expected": home[index], "got": record.device}))
            break
    if seen.host_copies and not eager.host_copies:
        text = f"{seen.host_copies} tensors were copied from the device to the host during the call"
        problems.append(("host-copy", "host-copy", text, {"expected": 0, "got": seen.host_copies}))
    if probe.world.stream == "side":
        # The same values on the default stream must be right, or the fault is the kernel's arithmetic and not the stream.
        side, plain = check_value(ctx, probe), check_value(ctx, _default_stream(probe))
        if side.status == FAILED and plain.status == PASSED:
            problems.append(("stream", "stream", f"the kernel did not wait for the current stream: {side.reason}", {}))
    if seen.peak_bytes is not None:
        limit = _limit(ctx, probe, eager)
        if seen.peak_bytes > limit:
            text = f"the call took {seen.peak_bytes >> 20} MiB beside its inputs, the contract grants {limit >> 20} MiB"
            problems.append(("memory", "memory", text, {"expected": limit, "got": seen.peak_bytes}))
    return problems


def _limit(ctx: JudgeContext, probe: Probe, eager: Observation) -> int:
    inputs = sum(t.numel() * t.element_size() for t in ctx.oracle.inputs(probe).values() if hasattr(t, "numel"))
    outputs = sum(len(record.data) for record in eager.outputs)
    granted = int(ctx.contract.memory_factor * (inputs + outputs)) + SLACK
    return max(granted, 2 * (eager.peak_bytes or 0))


GATE = Gate(
    id="RES-01",
    title="residency",
    tolerance_free=True,
    codes=("device", "host-copy", "stream", "memory"),
    plan=plan,
    judge=judge,
)
