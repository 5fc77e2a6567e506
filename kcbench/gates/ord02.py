"""ORD-02, determinism and aliasing: equal bytes over at least twenty runs, and outputs that own their memory.

The runs are quiet, then with a poisoned allocator, then with a call at another shape in between, and on a GPU also under a
loaded stream.
"""

from __future__ import annotations

from collections.abc import Sequence

from kcbench.domain.probe import Probe, World
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext
from kcbench.gates.compare import CRASH, FAILED, INVALID, PASSED, Check, conclude, reachable, refuse, where

RUNS = 10
"""Repeats per group; two groups at least, so that every kernel runs twenty times or more."""


def plan(ctx: PlanContext) -> list[Probe]:
    """Quiet runs, one call at another shape, runs with a dirty allocator, and on a GPU runs under load."""
    # A race needs blocks to race: a device gets the larger legacy sizes, the interpreter and the CPU the small ones.
    sizes = ctx.contract.legacy_sizes() if ctx.device == "cuda" else {}
    other = {
        name: axis.minimum or 1
        for name, axis in list(ctx.contract.axes.items())[:1]
        if axis.varies and axis.admits(axis.minimum or 1)
    }
    quiet = ctx.probe("quiet runs", axes=sizes, stream="ord02", world=World(repeats=RUNS))
    between = ctx.probe("another shape", axes=other, stream="ord02/other", world=World(occurrence=1))
    dirty = ctx.probe("dirty allocator", axes=sizes, stream="ord02", world=World(repeats=RUNS, disturb=("dirty",), occurrence=1))
    probes = [quiet, between, dirty]
    if ctx.device == "cuda":
        busy = World(repeats=RUNS, disturb=("busy",), occurrence=2)
        probes.append(ctx.probe("loaded stream", axes=sizes, stream="ord02", world=busy))
    return probes


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Bytes equal within and across the groups; in no call of the run does an output share memory with what is alive."""
    groups = [probe for probe in probes if probe.world.repeats > 1]
    checks: list[Check] = []
    owed = ctx.contract.deterministic
    findings: dict[str, Finding] = {}
    for probe in probes:
        gone = reachable(ctx, probe)
        if gone is not None:
            # Only this gate repeats a call on the same tensors: an exception in a later run would go unseen elsewhere.
            if gone.status == FAILED:
                refuse(findings, gone, CRASH)
            checks.append(gone)
            continue
        before = len(findings)
        if len(set(ctx.seen(probe).repeats)) > 1 and owed and not ctx.oracle.steady(probe):
            owed = False
            checks.append(Check(probe, INVALID, "the eager model's own results differ from run to run on this device"))
            continue
        if probe in groups and owed:
            _repeats(ctx, probe, findings)
        checks.append(Check(probe, PASSED if len(findings) == before else FAILED))
    if owed and "nondeterministic" not in findings:
        _across(ctx, probes, findings)
    # What a call does to memory may depend on values and sizes, so every call of the run is looked at.
    for probe in ctx.probes.values():
        _aliases(ctx, probe, findings)
    notes = [] if ctx.contract.deterministic else [f"determinism: {ctx.contract.reasons.get('deterministic', 'not owed')}"]
    return conclude("ORD-02", list(findings.values()), checks, nothing="no call came back", notes=notes)


def _repeats(ctx: JudgeContext, probe: Probe, findings: dict[str, Finding]) -> None:
    digests = ctx.seen(probe).repeats
    if len(set(digests)) > 1:
        first = next(i for i, digest in enumerate(digests) if digest != digests[0])
        evidence = {
            **where(probe),
            "kind": "repeat",
            "runs": len(digests),
            "distinct": len(set(digests)),
            "first_difference": first,
        }
        text = f"{len(digests)} runs on the same input gave {len(set(digests))} different results ({probe.label})"
        findings.setdefault("nondeterministic", Finding("nondeterministic", text, True, (probe.id,), evidence))


def _across(ctx: JudgeContext, probes: Sequence[Probe], findings: dict[str, Finding]) -> None:
    seen = [(probe, ctx.seen(probe).repeats) for probe in probes if probe.world.repeats > 1 and ctx.seen(probe).repeats]
    for probe, digests in seen[1:]:
        if digests[0] != seen[0][1][0]:
            evidence = {**where(probe), "kind": "stateful", "expected": seen[0][1][0][:16], "got": digests[0][:16]}
            path = tuple(item.id for item in probes[: probes.index(probe) + 1])
            text = f"the result for the same input changed after a call at another shape ({probe.label})"
            findings.setdefault("stateful", Finding("stateful", text, True, path, evidence))
            return


def _aliases(ctx: JudgeContext, probe: Probe, findings: dict[str, Finding]) -> None:
    seen = ctx.seen(probe)
    for alias in seen.aliases:
        if alias.kind in ("input", "parameter") and ctx.contract.view:
            continue
        code = "alias-output" if alias.kind == "output" else "alias-input"
        what = (
            "an output of an earlier call that is still in use" if code == "alias-output" else f"its {alias.kind} {alias.name!r}"
        )
        evidence = {**where(probe), "kind": code, "output": alias.output, "shares_with": alias.name}
        text = f"output {alias.output} shares memory with {what}"
        findings.setdefault(code, Finding(code, text, True, (probe.id,), evidence))
    if seen.mutated:
        evidence = {**where(probe), "kind": "mutates", "inputs": list(seen.mutated)}
        text = f"the call changed its input {seen.mutated[0]!r}"
        findings.setdefault("mutates-input", Finding("mutates-input", text, True, (probe.id,), evidence))


GATE = Gate(
    id="ORD-02",
    title="determinism and aliasing",
    tolerance_free=True,
    codes=("nondeterministic", "alias-input", "alias-output", "mutates-input", "stateful", CRASH),
    plan=plan,
    judge=judge,
)
