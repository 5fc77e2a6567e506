"""GUARD: what every submission owes whatever the contract says.

Inputs stay as they were, weights are read anew at each call, outputs are plain tensors of the eager model's dtype and shape,
and no state is carried from one call to the next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from kcbench.domain.probe import Probe, World
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext
from kcbench.gates.compare import FAILED, PASSED, Check, conclude, reachable, where
from kcbench.gates.value import check_value

_PLAIN = ("Tensor", "Parameter")


def plan(ctx: PlanContext) -> list[Probe]:
    """First call; the same inputs after a weight update; other inputs; the first again; other inputs on a fresh instance."""
    first = ctx.probe("first call")
    other = ctx.probe("other inputs", stream="other", parameters=_redrawn(ctx, "main"))
    return [
        first,
        *([_updated(ctx)] if ctx.redraw and ctx.contract.parameters else []),
        other,
        ctx.probe("first call again", world=World(occurrence=1)),
        ctx.probe(
            "other inputs, fresh instance", stream="other", parameters=_redrawn(ctx, "main"), world=World(instance="fresh")
        ),
    ]


def _redrawn(ctx: PlanContext, stream: str) -> dict[str, dict[str, object]]:
    """The contract's parameter recipes pinned to one stream, so that only the inputs change."""
    return {name: {**recipe, "stream": stream} for name, recipe in ctx.contract.parameters.items()}


def _updated(ctx: PlanContext) -> Probe:
    return ctx.probe("after a weight update", parameters=_redrawn(ctx, "updated"))


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Refuse what breaks a universal rule; the guard's own calls, and the side effects of all calls of the run."""
    findings: dict[str, Finding] = {}
    checks: list[Check] = []
    for probe in probes:
        checks.append(_check_form(ctx, probe, findings))
    if ctx.contract.parameters and ctx.plan.redraw:
        checks.append(_check_weights(ctx, probes, findings))
    elif ctx.contract.parameters and not ctx.plan.packs and ctx.seen(probes[0]).held == 0:
        checks.append(_check_weightless(ctx, probes[0], findings))
    checks.append(_check_state(ctx, probes, findings))
    for probe in ctx.probes.values():
        _check_side_effects(ctx, probe, findings)
    return conclude("GUARD", list(findings.values()), checks, nothing="no call could be made")


def _check_side_effects(ctx: JudgeContext, probe: Probe, findings: dict[str, Finding]) -> None:
    """What no call of the run may do: write to what is not its own, return another dtype than eager, or not happen at all."""
    seen = ctx.seen(probe)
    eager = ctx.oracle.eager(probe) if seen.ok else None
    if eager is not None and eager.ok:
        for got, want in zip(seen.outputs, eager.outputs, strict=False):
            if got.dtype != want.dtype:
                text = f"the output dtype is {got.dtype} instead of {want.dtype} ({probe.label})"
                evidence = {**where(probe), "kind": "dtype", "message": text, "expected": want.dtype}
                findings.setdefault("output-dtype", Finding("output-dtype", text, True, (probe.id,), evidence))
    if seen.mutated:
        evidence = {**where(probe), "kind": "mutates", "inputs": list(seen.mutated)}
        text = f"the call changed its input {seen.mutated[0]!r}"
        findings.setdefault("mutates-input", Finding("mutates-input", text, True, (probe.id,), evidence))
    if seen.outside:
        text = "the call wrote to memory beside the tensors that it was given or allocated"
        findings.setdefault(
            "writes-outside", Finding("writes-outside", text, True, (probe.id,), {**where(probe), "kind": "outside"})
        )
    if seen.status == "not-run":
        evidence = {**where(probe), "kind": "raised", "message": seen.detail}
        text = f"the submission did not finish: {seen.detail}"
        findings.setdefault("unfinished", Finding("unfinished", text, False, (probe.id,), evidence))


def _check_form(ctx: JudgeContext, probe: Probe, findings: dict[str, Finding]) -> Check:
    """Plain tensors, in the structure and shape of the eager model; their dtype is looked at in every call of the run."""
    gone = reachable(ctx, probe)
    if gone is not None:
        # Only the guard constructs a second instance, so it cannot leave a call that ends without a result to the other gates.
        if gone.status == FAILED:
            findings.setdefault("unfinished", gone.finding("unfinished"))
        return gone
    seen, eager = ctx.seen(probe), ctx.oracle.eager(probe)
    if not eager.ok:
        return Check(probe, "invalid", "the eager model raises")
    odd = [record.type_name for record in seen.outputs if record.type_name not in _PLAIN]
    problems: list[tuple[str, str, str]] = []
    if odd:
        problems.append(
            ("subclass", "subclass", f"the output is a {odd[0]}, not a plain tensor, so that its value may be computed later")
        )
    want, got = ([record.shape for record in item.outputs] for item in (eager, seen))
    if _sequence(seen.structure) != _sequence(eager.structure):
        text = f"the call returns a {seen.structure} where the eager model returns a {eager.structure}"
        problems.append(("output-shape", "shape", text))
    elif want != got:
        shapes = f"{[list(shape) for shape in got]} instead of {[list(shape) for shape in want]}"
        problems.append(("output-shape", "shape", f"the output shapes are {shapes}"))
    for code, kind, text in problems:
        expected = list(want[0]) if kind == "shape" else "Tensor"
        evidence = {**where(probe), "kind": kind, "message": text, "expected": expected}
        findings.setdefault(code, Finding(code, text, True, (probe.id,), evidence))
    return Check(probe, FAILED if problems else PASSED)


def _sequence(structure: str) -> str:
    return "tuple" if structure == "list" else structure


def _check_weights(ctx: JudgeContext, probes: Sequence[Probe], findings: dict[str, Finding]) -> Check:
    """After a weight update in place the output must follow it."""
    first, updated = probes[0], probes[1]
    a, b = ctx.seen(first), ctx.seen(updated)
    if not (a.ok and b.ok):
        return Check(updated, "skipped", "the call did not come back")
    if check_value(ctx, updated).status != FAILED or check_value(ctx, first).status == FAILED:
        return Check(updated, PASSED)
    unchanged = [record.data for record in a.outputs] == [record.data for record in b.outputs]
    how = "is bit for bit the old one" if unchanged else "does not follow it"
    text = f"after the weights were updated in place the output {how}: a copy of the old weights is in use"
    evidence = {**check_value(ctx, updated).evidence, "kind": "weights", "unchanged": unchanged}
    findings["weights-stale"] = Finding("weights-stale", text, True, (first.id, updated.id), evidence)
    return Check(updated, FAILED)


def _check_weightless(ctx: JudgeContext, probe: Probe, findings: dict[str, Finding]) -> Check:
    """A model that registers nothing cannot be given weights. Where the result depends on them, that is a fault."""
    one, two = (dataclasses.replace(probe, parameters=_redrawn(ctx.plan, stream)) for stream in ("main", "updated"))
    truths = ctx.oracle.truth(one), ctx.oracle.truth(two)
    if all(torch.allclose(a, b, rtol=1e-6, atol=0, equal_nan=True) for a, b in zip(*truths, strict=True)):
        return Check(probe, PASSED)
    text = "the result depends on weights, and the submission holds no parameter or buffer that they could be loaded into"
    evidence = {**where(probe), "kind": "weightless", "parameters": list(ctx.contract.parameters)[:8]}
    findings["weights-stale"] = Finding("weights-stale", text, True, (probe.id,), evidence)
    return Check(probe, FAILED)


def _check_state(ctx: JudgeContext, probes: Sequence[Probe], findings: dict[str, Finding]) -> Check:
    """A used instance and a fresh one agree, and the first call's answer comes back after other inputs."""
    first, other, again, fresh = probes[0], *probes[-3:]
    pairs = [(other, fresh, "a used instance and a fresh one"), (first, again, "the same inputs before and after other inputs")]
    last = Check(again, "skipped", "the calls did not come back")
    for one, two, who in pairs:
        a, b = ctx.seen(one), ctx.seen(two)
        if not (a.ok and b.ok):
            continue
        last = Check(two, PASSED)
        if [r.data for r in a.outputs] == [r.data for r in b.outputs]:
            continue
        # Bits may differ between two honest calls of a kernel that is not deterministic: that is ORD-02's question. State shows
        # as a wrong value on one side only.
        sides = {check_value(ctx, one).status, check_value(ctx, two).status}
        if sides == {PASSED, FAILED}:
            worst = next(c for c in (check_value(ctx, one), check_value(ctx, two)) if c.status == FAILED)
            text = f"{who} give different answers: {worst.reason}"
            evidence = {**worst.evidence, "kind": "stateful"}
            findings.setdefault("stateful", Finding("stateful", text, True, (first.id, one.id, two.id), evidence))
            last = Check(two, FAILED)
    return last


GATE = Gate(
    id="GUARD",
    title="universal guards",
    tolerance_free=True,
    codes=(
        "mutates-input",
        "writes-outside",
        "weights-stale",
        "subclass",
        "output-dtype",
        "output-shape",
        "stateful",
        "unfinished",
    ),
    plan=plan,
    judge=judge,
)
