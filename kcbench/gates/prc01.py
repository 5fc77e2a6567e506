"""PRC-01, precision regime: every dtype within its own bound, and no narrowing of inputs that the contract does not permit.

No residual threshold separates tf32 or bf16 inputs from honest rounding in long sums. The identity probe does: values with 13
fraction bits pass through an identity operand and must come out bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kcbench.domain.probe import Probe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext, real_inputs
from kcbench.gates.compare import CRASH, FAILED, PASSED, Check, check_exact, conclude, outputs_of, refuse
from kcbench.gates.designed import designed_probes
from kcbench.gates.value import check_value
from kcbench.numerics.formats import dtype_name, round_to


def plan(ctx: PlanContext) -> list[Probe]:
    """Two ordinary draws per declared dtype, then the identity probes."""
    probes = []
    names = real_inputs(ctx.contract)
    for dtype in ctx.dtypes:
        probes.append(ctx.probe(f"{dtype} normal", dtype=dtype, stream=f"prc01/{dtype}"))
        if names:
            uniform = {name: {"kind": "uniform"} for name in names}
            probes.append(ctx.probe(f"{dtype} uniform", dtype=dtype, inputs=uniform, stream=f"prc01/{dtype}/uniform"))
    return [*probes, *_identity(ctx)]


def _identity(ctx: PlanContext) -> list[Probe]:
    return designed_probes(ctx, "identity", stream="prc01/identity", dtypes=ctx.dtypes)


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Values within each dtype's bound, in that dtype; identity probes bit-equal."""
    identity = {probe.id for probe in _identity(ctx.plan)}
    checks: list[Check] = []
    findings: dict[str, Finding] = {}
    for probe in probes:
        if probe.id in identity:
            check = check_exact(ctx, probe)
            if check.status == FAILED:
                code = _narrowing(ctx, check)
                if code == "tf32" and ctx.contract.precision == "tf32":
                    check = Check(probe, PASSED)
                else:
                    refuse(findings, check, code)
        else:
            check = check_value(ctx, probe)
            wrong = _wrong_dtype(ctx, probe)
            if wrong is not None:
                findings.setdefault("dtype", wrong)
            if check.status == FAILED:
                refuse(findings, check, "value")
        checks.append(check)
    notes = []
    if not identity:
        notes.append(f"identity: {ctx.contract.reasons.get('PRC-01', 'the task has no exact identity probe')}")
    if ctx.plan.interpreted:
        notes.append("tf32: interpreted, no tensor core takes part")
        notes += ["bfloat16: interpreted, where it is not rounded"] if ctx.plan.dtypes != ctx.contract.dtypes else []
    return conclude("PRC-01", list(findings.values()), checks, nothing="no declared dtype could be run", notes=notes)


def _wrong_dtype(ctx: JudgeContext, probe: Probe) -> Finding | None:
    seen, eager = ctx.seen(probe), ctx.oracle.eager(probe)
    if not (seen.ok and eager.ok) or len(seen.outputs) != len(eager.outputs):
        return None
    for index, (got, want) in enumerate(zip(seen.outputs, eager.outputs, strict=True)):
        if got.dtype != want.dtype:
            text = f"{probe.dtype} inputs give a {got.dtype} output where the eager model gives {want.dtype}"
            evidence = {"probe": probe.label, "dtype": probe.dtype, "axes": dict(probe.axes), "kind": "dtype", "output": index}
            return Finding("dtype", text, True, (probe.id,), {**evidence, "expected": want.dtype, "got": got.dtype})
    return None


def _narrowing(ctx: JudgeContext, check: Check) -> str:
    """``tf32`` when every wrong value is the truth cut or rounded to ten fraction bits; ``narrowed`` otherwise."""
    output = int(check.evidence.get("output", 0))
    outputs = outputs_of(ctx.seen(check.probe))
    if check.evidence.get("kind") not in ("bits", "value") or output >= len(outputs) or not outputs[output].is_floating_point():
        return "narrowed"
    got, dtype = outputs[output].to(torch.float64), dtype_name(outputs[output].dtype)
    want = round_to(ctx.oracle.truth(check.probe)[output], dtype)
    wrong = got != want
    mantissa, _ = torch.frexp(got[wrong])
    # frexp puts the significand in [0.5, 1): ten fraction bits after the leading one are eleven after the point.
    on_grid = torch.equal(torch.round(mantissa * 2.0**11), mantissa * 2.0**11)
    spread = (
        ((got[wrong] - want[wrong]).abs() / want[wrong].abs().clamp_min(1e-300)).max() if bool(wrong.any()) else torch.tensor(0.0)
    )
    near = float(spread) <= 2.0**-10
    coarse = torch.equal(torch.round(mantissa * 2.0**8), mantissa * 2.0**8)
    return "tf32" if on_grid and near and not coarse else "narrowed"


GATE = Gate(
    id="PRC-01",
    title="precision regime",
    tolerance_free=False,
    codes=("value", "tf32", "narrowed", "dtype", CRASH),
    plan=plan,
    judge=judge,
)
