"""ORD-03, cancellation: sums that cancel stay within the bound of their magnitude.

The truth is the float64 value, never the eager model's own order: any order of summation passes, a one-pass variance or a narrow
accumulator does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcbench.domain.probe import Probe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext, real_inputs
from kcbench.gates.compare import CRASH, FAILED, check_exact, conclude, refuse
from kcbench.gates.designed import designed_probes
from kcbench.gates.value import check_value
from kcbench.numerics.constants import constants


def _patterns(dim: int) -> Mapping[str, Mapping[str, Any]]:
    return {
        "cancellation": {"kind": "cancellation", "dim": dim},
        "alternating": {"kind": "alternating", "dim": dim},
        "geometric": {"kind": "geometric", "dim": dim},
        # At mean over standard deviation 100 a one-pass variance loses what a two-pass or Welford variance keeps.
        "mean/std 100": {"kind": "normal", "mean": 100.0},
    }


GRANT = constants().any_order
"""How much further a result may be off than the natural order's partial sums say, where there is no bound for any order."""


def plan(ctx: PlanContext) -> list[Probe]:
    """Each pattern along the reduced axis of the first varied operand; then the contract's integer cancellation."""
    reduction = ctx.contract.reduction
    if reduction is None:
        return []
    probes = []
    operand = next(((name, dim) for name, dim in reduction.operands if name in real_inputs(ctx.contract)), None)
    if operand is not None:
        for label, recipe in _patterns(operand[1]).items():
            probes.append(ctx.probe(label, inputs={operand[0]: recipe}, stream=f"ord03/{label}"))
    return [*probes, *designed_probes(ctx, "cancellation", stream="ord03/exact")]


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Within the bound on every pattern, for sums in any order; integers exact."""
    exact = {probe.id for probe in designed_probes(ctx.plan, "cancellation", stream="ord03/exact")}
    # The closed form is one of sums of products; a variance that cancels is another matter.
    any_order = ctx.contract.reduction is not None and ctx.contract.reduction.linear
    checks = [
        check_exact(ctx, probe)
        if probe.id in exact
        else check_value(ctx, probe, grant=1.0 if any_order else GRANT, any_order=any_order)
        for probe in probes
    ]
    findings: dict[str, Finding] = {}
    for check in sorted(checks, key=lambda check: check.ratio, reverse=True):
        if check.status == FAILED:
            refuse(findings, check, "cancellation")
    nothing = ctx.contract.reasons.get("ORD-03", "the task sums nothing")
    return conclude("ORD-03", list(findings.values()), checks, nothing=nothing)


GATE = Gate(id="ORD-03", title="cancellation", tolerance_free=False, codes=("cancellation", CRASH), plan=plan, judge=judge)
