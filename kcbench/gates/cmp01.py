"""CMP-01, input diversity: the error stays within the derived bound whatever is fed in.

Benchmarks draw from one distribution (usually uniform on [0, 1)), so that sign errors, shortcuts for small values and constant
answers go unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kcbench.domain.probe import Probe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext, real_inputs
from kcbench.gates.compare import CRASH, FAILED, Check, check_exact, conclude, outputs_of, refuse
from kcbench.gates.designed import designed_probes
from kcbench.gates.value import check_value
from kcbench.numerics.constants import constants

FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "normal": {"kind": "normal"},
    "uniform": {"kind": "uniform"},
    "negative": {"kind": "uniform", "low": -2.0, "high": 0.0},
    # A running maximum that starts at 0 is right until every value is so far below that its exponential vanishes in float32.
    "far below zero": {"kind": "normal", "mean": -150.0},
    "lognormal": {"kind": "lognormal"},
    "sparse": {"kind": "sparse", "density": 0.5},
    "constant": {"kind": "constant", "value": 0.75},
    # Equal steps would be rounded alike, and those errors add up in an honest running mean.
    "ramp": {"kind": "ramp", "jitter": 1.0},
    "integers": {"kind": "integers", "low": -4, "high": 4},
    "zeros": {"kind": "constant", "value": 0.0},
    "x1e-2": {"kind": "normal", "gain": 1e-2},
    "x1e-3": {"kind": "normal", "gain": 1e-3},
    "x1e-5": {"kind": "normal", "gain": 1e-5},
    "x1e3": {"kind": "normal", "gain": 1e3},
    # Below any threshold under which a kernel may take everything for zero, and ordinary float32 values all the same.
    "x2^-40": {"kind": "normal", "gain": 2.0**-40},
}
"""Distributions for the inputs whose domain is ``real``; the others keep their own recipe and draw anew."""
MOVED = "integers, in another order"
"""The values of the family ``integers`` once more, at other places: what keeps a result by a sum of its input takes them for the
same."""
EQUAL = frozenset({"sparse", "constant", "integers", MOVED, "zeros"})
COHERENT = constants().coherent
"""How much further a result may be off in the families where many inputs are equal: equal terms are rounded alike, so that errors
add up."""


def plan(ctx: PlanContext) -> list[Probe]:
    """One probe per family, then the contract's exact integer probes."""
    names = real_inputs(ctx.contract)
    if not names:
        return [ctx.probe(f"draw {index}", stream=f"cmp01/{index}") for index in range(4)]
    probes = []
    for label, recipe in FAMILIES.items():
        # Products of two inputs are far below zero where one of them is far above it.
        inputs = {name: _limited(ctx, name, recipe, -1.0 if place % 2 else 1.0) for place, name in enumerate(names)}
        probes.append(ctx.probe(label, inputs=inputs, stream=f"cmp01/{label}"))
    # Where all are small nothing may be left to see of one.
    small = FAMILIES["x1e-5"]
    for name in names if len(names) > 1 else ():
        probes.append(ctx.probe(f"{name} x1e-5", inputs={name: small}, stream=f"cmp01/{name} x1e-5"))
    moved = {name: _moved(ctx, name) for name in names}
    probes.append(ctx.probe(MOVED, inputs=moved, stream="cmp01/integers"))
    return [*probes, *designed_probes(ctx, "integers", stream="cmp01/exact")]


def _limited(ctx: PlanContext, name: str, recipe: Mapping[str, Any], sign: float) -> dict[str, Any]:
    limit = ctx.contract.input(name).max_scale
    found = {option: max(-limit, min(value, limit)) if option in ("gain", "mean") else value for option, value in recipe.items()}
    return {**found, "mean": sign * found["mean"]} if "mean" in found else found


def _moved(ctx: PlanContext, name: str) -> Mapping[str, Any]:
    base, last = FAMILIES["integers"], len(ctx.contract.input(name).shape) - 1
    return {"kind": "permuted", "base": base, "dim": last, "perm": "moved"} if last >= 0 else base


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Values within the bound on every family; integers exact."""
    exact = {probe.id for probe in designed_probes(ctx.plan, "integers", stream="cmp01/exact")}
    values = [
        check_value(ctx, probe, grant=COHERENT if probe.label in EQUAL else 1.0) for probe in probes if probe.id not in exact
    ]
    integers = [check_exact(ctx, probe) for probe in probes if probe.id in exact]
    findings: dict[str, Finding] = {}
    wrong = [check for check in values if check.status == FAILED and not check.crashed]
    if wrong:
        explained = _explain(ctx, values, wrong)
        findings[explained.code] = explained
    for check in [*(check for check in values if check.crashed), *integers]:
        if check.status == FAILED:
            refuse(findings, check, "integer")
    return conclude("CMP-01", list(findings.values()), [*values, *integers], nothing="the task has no input that may be varied")


def _explain(ctx: JudgeContext, values: Sequence[Check], failed: Sequence[Check]) -> Finding:
    """Name the fault as closely as the outputs allow: constant zeros, blindness to the input, or a wrong value."""
    silent = [check for check in failed if check.silent] or list(failed)
    worst = max(silent, key=lambda check: check.ratio)
    seen = [ctx.seen(check.probe) for check in values]
    outputs = [outputs_of(item) for item in seen if item.ok]
    if outputs and all(not bool(tensor.count_nonzero()) for tensors in outputs for tensor in tensors):
        return worst.finding("zeros", f"the output is all zeros on every input; {worst.reason}")
    distinct = {b"".join(record.data for record in item.outputs) for item in seen if item.ok}
    truths = [ctx.oracle.truth(check.probe) for check in values]
    moving = any(not torch.equal(a, b) for other in truths[1:] for a, b in zip(truths[0], other, strict=True))
    if len(outputs) > 2 and len(distinct) == 1 and moving:
        return worst.finding("input-blind", f"the output is the same for {len(outputs)} different inputs; {worst.reason}")
    return worst.finding("value")


GATE = Gate(
    id="CMP-01",
    title="input diversity",
    tolerance_free=False,
    codes=("value", "integer", "zeros", "input-blind", CRASH),
    plan=plan,
    judge=judge,
)
