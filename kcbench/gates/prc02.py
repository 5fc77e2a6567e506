"""PRC-02, accumulator: sums are carried in float32 or better.

The absorption probe adds one large value, thousands of small odd integers and the large value's negative, in a permuted order.
Every partial sum stays below 2^24, so any order in float32 gives the exact sum; float16 and bfloat16 accumulators absorb the
small terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from kcbench.domain.probe import Probe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext
from kcbench.gates.compare import CRASH, FAILED, check_exact, conclude, refuse
from kcbench.gates.designed import designed_probes


def plan(ctx: PlanContext) -> list[Probe]:
    """The contract's absorption probes at every declared dtype."""
    return designed_probes(ctx, "absorption", stream="prc02", dtypes=ctx.dtypes)


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Every output equals the exact sum rounded once."""
    checks = [check_exact(ctx, probe) for probe in probes]
    findings: dict[str, Finding] = {}
    for check in checks:
        if check.status == FAILED:
            refuse(findings, check, "accumulator")
    nothing = ctx.contract.reasons.get("PRC-02", "the task has no linear reduction to probe")
    notes = ["tensor-core accumulators: interpreted, none takes part"] if ctx.plan.interpreted and probes else []
    return conclude("PRC-02", list(findings.values()), checks, nothing=nothing, notes=notes)


GATE = Gate(id="PRC-02", title="accumulator", tolerance_free=True, codes=("accumulator", CRASH), plan=plan, judge=judge)
