"""Comparing one observation with the truth: the element-wise checks that the gates share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from kcbench.domain.observation import Observation, Raised
from kcbench.domain.probe import Probe
from kcbench.domain.verdict import NOT_APPLICABLE, REFERENCE_INVALID, Finding, Verdict
from kcbench.gates.base import JudgeContext
from kcbench.numerics import bounds
from kcbench.numerics.formats import classes, decode, format_of, round_to
from kcbench.numerics.stochastic import KAPPA, Estimate, z_score

PASSED, FAILED, INVALID, SKIPPED = "passed", "failed", "invalid", "skipped"
CRASH = "crash"
"""Code for a call inside the contract that ended without a result, in every gate that compares results."""

CLASS_NAMES = ("finite", "nan", "+inf", "-inf")
EAGER_FACTOR = 2.0
"""How much further than eager's own worst element, in units of the bound, an honest kernel may be off."""
_UNSUPPORTED = ("NotImplementedError", "TypeError", "ValueError", "AssertionError", "RuntimeError")


@dataclass(frozen=True)
class Check:
    """The outcome of one check: one probe, one question."""

    probe: Probe
    status: str
    """``passed``, ``failed``, ``invalid`` (same-dtype eager fails it too) or ``skipped`` (it does not apply)."""
    reason: str = ""
    silent: bool = True
    ratio: float = 0.0
    """Worst error over tolerance (1 is the line); for bit checks 0 or inf."""
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def crashed(self) -> bool:
        """Whether it failed because the call ended without a result."""
        return self.status == FAILED and self.evidence.get("kind") == "raised"

    def finding(self, code: str, summary: str | None = None, *, probes: tuple[str, ...] = ()) -> Finding:
        """This failed check as a finding."""
        return Finding(code, summary or self.reason, self.silent, probes or (self.probe.id,), self.evidence)


def refuse(findings: dict[str, Finding], check: Check, code: str, *, probes: tuple[str, ...] = ()) -> None:
    """Add a failed check to a gate's findings, if it is the first of its code.

    A call that ended without a result shows nothing of what the gate looks for, so it counts as :data:`CRASH`.

    Args:
        findings: The gate's findings by code.
        check: The failed check.
        code: What the gate calls a wrong result.
        probes: The probes that show it, if not the check's own.
    """
    code = CRASH if check.crashed else code
    if code not in findings:
        findings[code] = check.finding(code, probes=probes)


def conclude(
    gate: str, findings: Sequence[Finding], checks: Sequence[Check], *, nothing: str, notes: Sequence[str] = ()
) -> Verdict:
    """The verdict over a gate's checks.

    Args:
        gate: Gate id.
        findings: Reasons to refuse; they decide.
        checks: All checks made, for the counts.
        nothing: Why the gate does not apply, used when no check applied.
        notes: Parts that did not apply.
    """
    judged = [check for check in checks if check.status in (PASSED, FAILED)]
    invalid = [check for check in checks if check.status == INVALID]
    ratios = [check.ratio for check in judged if math.isfinite(check.ratio)]
    metrics = {"worst_ratio": float(f"{max(ratios):.4g}")} if ratios else {}
    notes = [
        *notes,
        *dict.fromkeys(f"{check.probe.label}: {check.reason}" for check in checks if check.status in (INVALID, SKIPPED)),
    ]
    if not findings and not judged:
        status = REFERENCE_INVALID if invalid else NOT_APPLICABLE
        reason = invalid[0].reason if invalid else next((c.reason for c in checks if c.status == SKIPPED), nothing)
        return Verdict(gate, status, reason=reason, notes=tuple(notes), metrics=metrics)
    return Verdict.of(gate, findings, checks=len(judged), notes=notes, metrics=metrics)


def reachable(ctx: JudgeContext, probe: Probe, *, raise_is_refusal: bool = False) -> Check | None:
    """None when the call gave outputs to compare; else the check that says why not.

    An exception is loud: inside the contract's class it is a failure, unless eager raises as well. A dtype other than the first
    may be declined by an exception (``raise_is_refusal`` false), which is a skip.
    """
    seen = ctx.seen(probe)
    if seen.ok:
        return None
    if seen.status == "not-run":
        return Check(probe, SKIPPED, f"not run: {seen.detail}")
    eager = ctx.oracle.eager(probe)
    if not eager.ok:
        return Check(probe, INVALID, "the eager model raises as well")
    said = describe(seen)
    declined = seen.raised is not None and seen.raised.type in _UNSUPPORTED
    if declined and probe.dtype != ctx.contract.dtypes[0] and not raise_is_refusal:
        return Check(probe, SKIPPED, f"{probe.dtype} declined: {said}")
    evidence = {**where(probe), "kind": "raised", "message": said}
    return Check(
        probe, FAILED, f"{probe.label} is inside the contract, and the call ended with {said}", False, math.inf, evidence
    )


def describe(seen: Observation) -> str:
    """One line about a call that gave no outputs."""
    if seen.raised is not None:
        return _first_line(seen.raised)
    return seen.detail or seen.status


def _first_line(raised: Raised) -> str:
    lines = raised.message.strip().splitlines() or [""]
    return f"{raised.type}: {lines[0][:200]}" if lines[0] else raised.type


def where(probe: Probe) -> dict[str, Any]:
    """The evidence that every check carries."""
    return {"probe": probe.label, "dtype": probe.dtype, "axes": dict(probe.axes)}


def outputs_of(seen: Observation) -> tuple[Tensor, ...]:
    """Decoded outputs, on the CPU, in the dtype that the submission returned."""
    return tuple(decode(record) for record in seen.outputs)


def mismatch(got: Sequence[Tensor], want: Sequence[Tensor]) -> str:
    """A sentence when the number or shapes of outputs differ; empty when they agree."""
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for index, (a, b) in enumerate(zip(got, want, strict=True)):
        if a.shape != b.shape:
            return f"output {index} has shape {list(a.shape)} instead of {list(b.shape)}"
    return ""


def check_value(ctx: JudgeContext, probe: Probe, *, grant: float = 1.0, any_order: bool = False) -> Check:
    """Whether every output element lies within the derived bound around the float64 truth.

    Elements where same-dtype eager is in another class (finite, NaN, +Inf, -Inf) than the truth are left out; a probe on which
    eager itself breaks the bound is invalid.

    Args:
        ctx: What is known.
        probe: The call.
        grant: Multiplies the bound, where roundings are not independent of each other.
        any_order: Grant the closed-form bound on the sum of magnitudes as well, which holds for sums in any order: the derived
            one knows the partial sums of the natural order only.
    """
    gone = reachable(ctx, probe)
    if gone is not None:
        return gone
    eager = ctx.oracle.eager(probe)
    if not eager.ok:
        return Check(probe, INVALID, "the eager model raises")
    truth = ctx.oracle.truth(probe)
    got = outputs_of(ctx.seen(probe))
    shape = mismatch(got, truth)
    if shape:
        return Check(probe, FAILED, f"{probe.label}: {shape}", ratio=math.inf, evidence=_shape_evidence(probe, shape, truth))
    estimate = ctx.oracle.estimate(probe)
    if estimate.vacuous:
        return Check(probe, INVALID, "the task amplifies rounding beyond use on these inputs")
    eager_outputs = outputs_of(eager)
    if mismatch(eager_outputs, truth):
        return Check(probe, INVALID, "the eager model disagrees with the reference about the output's shape")
    spread = ctx.oracle.magnitude(probe) if any_order else None
    own = _worst(ctx, probe, eager_outputs, eager_outputs, truth, estimate, spread)
    if own is not None and own[0] > 1:
        return Check(probe, INVALID, f"the eager model itself is {own[0]:.3g} times outside the bound at {probe.dtype}")
    # Where eager itself comes close to the line the model is tight for this task, and honest kernels may err twice as much as
    # eager.
    limit = max(grant, EAGER_FACTOR * own[0]) if own is not None else grant
    return _to_check(probe, _worst(ctx, probe, got, eager_outputs, truth, estimate, spread), limit)


def _shape_evidence(probe: Probe, message: str, truth: Sequence[Tensor]) -> dict[str, Any]:
    return {**where(probe), "kind": "shape", "message": message, "output": 0, "expected": list(truth[0].shape)}


def _to_check(probe: Probe, worst: tuple[float, dict[str, Any]] | None, limit: float) -> Check:
    if worst is None:
        return Check(probe, SKIPPED, "no element can be compared")
    ratio, evidence = worst[0] / limit, worst[1]
    if ratio <= 1:
        return Check(probe, PASSED, ratio=ratio)
    evidence = {**where(probe), **evidence, "ratio": finite(ratio)}
    reason = f"{probe.label}: element {evidence['index']} is {evidence['got']} instead of {evidence['expected']}"
    if math.isfinite(ratio):
        reason += f", {ratio:.3g} times the allowed error"
    return Check(probe, FAILED, reason, ratio=ratio, evidence=evidence)


def _worst(
    ctx: JudgeContext,
    probe: Probe,
    got: Sequence[Tensor],
    eager: Sequence[Tensor],
    truth: Sequence[Tensor],
    estimate: Estimate,
    spread: Sequence[Tensor] | None,
) -> tuple[float, dict[str, Any]] | None:
    """The worst element over all outputs as (error / tolerance, evidence); None when none can be compared."""
    worst: tuple[float, dict[str, Any]] | None = None
    for index, (mine, other, want) in enumerate(zip(got, eager, truth, strict=True)):
        if want.numel() == 0:
            worst = worst or (0.0, {})
            continue
        dtype = str(other.dtype).removeprefix("torch.")
        if not other.dtype.is_floating_point:
            ratio = torch.where(mine.to(torch.float64) == want, 0.0, math.inf)
            tolerance = torch.zeros_like(want)
        else:
            ratio, tolerance = _ratios(ctx, probe, mine.to(torch.float64), other, want, estimate, index, dtype)
            if spread is not None:
                length = ctx.contract.reduction_length(probe.axes)
                widest = bounds.closed_form(
                    want, spread[index], length=length, outputs=want.numel(), dtype=dtype, regime=_regime(ctx)
                )
                # Where the class is wrong the ratio is infinite, and stays so.
                wider = torch.isfinite(ratio) & (widest > tolerance)
                ratio = torch.where(wider, (mine.to(torch.float64) - want).abs() / widest, ratio)
                tolerance = torch.maximum(tolerance, widest)
        if torch.isnan(ratio).all():
            continue
        flat = int(torch.nan_to_num(ratio, nan=-1.0, posinf=math.inf).argmax())
        value = float(ratio.flatten()[flat])
        if worst is None or value > worst[0]:
            worst = value, element(mine, want, flat, output=index, tolerance=float(tolerance.flatten()[flat]), dtype=dtype)
    return worst


def _regime(ctx: JudgeContext) -> str:
    return "tf32" if ctx.contract.precision == "tf32" else "ieee"


def _ratios(
    ctx: JudgeContext, probe: Probe, got: Tensor, eager: Tensor, truth: Tensor, estimate: Estimate, index: int, dtype: str
) -> tuple[Tensor, Tensor]:
    """Error over tolerance per element, NaN where an element is left out, inf where its class is wrong; and the tolerance."""
    facts = format_of(dtype)
    rounded = round_to(truth, dtype)
    want_class = classes(rounded)
    left_out = classes(eager.to(torch.float64)) != want_class
    # Close to the overflow line, which side a correct kernel rounds to is luck.
    left_out |= (truth.abs() > 0.98 * facts.max) & (truth.abs() < 1.02 * facts.max) & torch.isfinite(truth)
    error = torch.nan_to_num((got - truth).abs(), nan=math.inf, posinf=math.inf)
    if ctx.bounds == "classic":
        length = ctx.contract.reduction_length(probe.axes)
        tolerance = bounds.classic(truth, dtype=dtype, length=length).expand_as(truth)
        ratio = error / tolerance
    else:
        sigma = estimate.sigma[index]
        # The submission may have legal order-dependent noise of its own at the last store: u_out |y| + eta, beside kappa sigma.
        tolerance = KAPPA * sigma + facts.u * truth.abs() + facts.eta
        ratio = torch.nan_to_num(z_score(error, truth, sigma, dtype=dtype), nan=math.inf) / KAPPA
        left_out |= estimate.ambiguous[index]
    finite_want = want_class == 0
    same_class = classes(got) == want_class
    ratio = torch.where(finite_want & same_class, ratio, torch.where(same_class, 0.0, math.inf))
    return torch.where(left_out, math.nan, ratio), tolerance


def element(
    got: Tensor, want: Tensor, flat: int, *, output: int, tolerance: float | None = None, dtype: str = "", kind: str = "value"
) -> dict[str, Any]:
    """Evidence about one element: its index, what was expected, what came."""
    evidence: dict[str, Any] = {
        "kind": kind,
        "output": output,
        "index": [int(i) for i in torch.unravel_index(torch.tensor(flat), want.shape)] if want.dim() else [],
        "expected": finite(float(want.flatten()[flat])),
        "got": finite(float(got.flatten()[flat])),
    }
    if tolerance is not None:
        evidence["tolerance"] = finite(tolerance)
    if dtype:
        evidence["output_dtype"] = dtype
    return evidence


def finite(value: float) -> float | str:
    """A number that JSON can hold: NaN and infinities become the strings ``nan``, ``inf`` and ``-inf``."""
    return value if math.isfinite(value) else ("nan" if math.isnan(value) else "inf" if value > 0 else "-inf")


def check_exact(ctx: JudgeContext, probe: Probe) -> Check:
    """Whether every output equals the truth rounded once to the output dtype, bit for bit (the sign of zero aside).

    Where transforms are legal (``exact`` false in the contract's reduction), float32 transforms move an exact result by a few
    units of its magnitude's roundoff; 2^-19 of the magnitude is granted, far below what any narrowing does.
    """
    gone = reachable(ctx, probe)
    if gone is not None:
        return gone
    eager = ctx.oracle.eager(probe)
    if not eager.ok:
        return Check(probe, INVALID, "the eager model raises")
    truth = ctx.oracle.truth(probe)
    slack = transform_slack(ctx, probe, truth)
    eager_outputs = outputs_of(eager)
    if mismatch(eager_outputs, truth) or _first_difference(eager_outputs, truth, slack) is not None:
        return Check(probe, INVALID, f"the eager model itself is not exact at {probe.dtype}")
    got = outputs_of(ctx.seen(probe))
    shape = mismatch(got, truth)
    if shape:
        return Check(probe, FAILED, f"{probe.label}: {shape}", ratio=math.inf, evidence=_shape_evidence(probe, shape, truth))
    difference = _first_difference(got, truth, slack)
    if difference is None:
        return Check(probe, PASSED)
    output, flat, count = difference
    rounded = round_to(truth[output], str(eager_outputs[output].dtype).removeprefix("torch."))
    granted = float(slack[output].flatten()[flat])
    kind, tolerance = ("value", granted) if granted else ("bits", None)
    facts = element(got[output], rounded, flat, output=output, kind=kind, tolerance=tolerance)
    evidence = {**where(probe), **facts, "wrong": count}
    reason = (
        f"{probe.label}: {count} of {rounded.numel()} elements differ from the exact result; "
        f"element {evidence['index']} is {evidence['got']} instead of {evidence['expected']}"
    )
    return Check(probe, FAILED, reason, ratio=math.inf, evidence=evidence)


def transform_slack(ctx: JudgeContext, probe: Probe, truth: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """What each output element may be off by on an exact probe: zero, unless transforms are legal."""
    reduction = ctx.contract.reduction
    magnitude = None if reduction is None or reduction.exact else ctx.oracle.magnitude(probe)
    if magnitude is None:
        return tuple(torch.zeros_like(item, dtype=torch.float64) for item in truth)
    u = format_of(probe.dtype).u
    return tuple(2.0**-19 * size + 2 * u * item.abs() for size, item in zip(magnitude, truth, strict=True))


def _first_difference(got: Sequence[Tensor], truth: Sequence[Tensor], slack: Sequence[Tensor]) -> tuple[int, int, int] | None:
    """(output, flat index, count) of the elements that are not the rounded truth; None when all are."""
    for output, (mine, want, granted) in enumerate(zip(got, truth, slack, strict=True)):
        dtype = str(mine.dtype).removeprefix("torch.")
        rounded = round_to(want, dtype) if mine.dtype.is_floating_point else want
        error = torch.nan_to_num((mine.to(torch.float64) - rounded).abs(), nan=math.inf)
        wrong = (error > granted) & (mine.to(torch.float64) != rounded)
        if bool(wrong.any()):
            return output, int(wrong.flatten().to(torch.int8).argmax()), int(wrong.sum())
    return None
