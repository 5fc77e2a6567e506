"""Comparing one observation with the truth: what a check is, and the exact ones. Those with a bound are in :mod:`.value`."""

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
from kcbench.gates.base import JudgeContext, Oracle
from kcbench.numerics.constants import constants
from kcbench.numerics.formats import classes, decode, format_of, round_to

PASSED, FAILED, INVALID, SKIPPED = "passed", "failed", "invalid", "skipped"
CRASH = "crash"
"""Code for a call inside the contract that ended without a result, in every gate that compares results."""
TRANSFORM_SLACK = constants().transform_slack
"""What a legal transform may move an exact result by, as a share of its magnitude."""

CLASS_NAMES = ("finite", "nan", "+inf", "-inf")
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
    """Worst error over tolerance (1 is the line); for bit checks without any tolerance 0 or inf."""
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
    worst: dict[str, float] = {}
    for check in judged:
        if math.isfinite(check.ratio):
            worst[check.probe.dtype] = max(worst.get(check.probe.dtype, 0.0), float(f"{check.ratio:.4g}"))
    metrics = {"worst_ratio": max(worst.values()), "worst_by_dtype": worst} if worst else {}
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


def shape_evidence(probe: Probe, message: str, truth: Sequence[Tensor]) -> dict[str, Any]:
    """Evidence for outputs whose number or shape is wrong."""
    return {**where(probe), "kind": "shape", "message": message, "output": 0, "expected": list(truth[0].shape)}


def element(
    got: Tensor, want: Tensor, flat: int, *, output: int, tolerance: float | None = None, dtype: str = "", kind: str = "value"
) -> dict[str, Any]:
    """Evidence about one element: its index, what was expected, what came."""
    evidence: dict[str, Any] = {
        "kind": kind,
        "output": output,
        "index": unraveled(flat, want.shape),
        "expected": finite(float(want.flatten()[flat])),
        "got": finite(float(got.flatten()[flat])),
    }
    if tolerance is not None:
        evidence["tolerance"] = finite(tolerance)
    if dtype:
        evidence["output_dtype"] = dtype
    return evidence


def unraveled(flat: int, shape: Sequence[int]) -> list[int]:
    """The index of an element by its place in C order."""
    index = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        index.append(at)
    return index[::-1]


def finite(value: float) -> float | str:
    """A number that JSON can hold: NaN and infinities become the strings ``nan``, ``inf`` and ``-inf``."""
    return value if math.isfinite(value) else ("nan" if math.isnan(value) else "inf" if value > 0 else "-inf")


def check_exact(ctx: JudgeContext, probe: Probe) -> Check:
    """Whether every output equals the truth rounded once to the output dtype, bit for bit (the sign of zero aside).

    Where transforms are legal (``exact`` false in the contract's reduction), float32 transforms move an exact result by a few
    units of its magnitude's roundoff; :data:`TRANSFORM_SLACK` of the magnitude is granted, far below what any narrowing does.
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
        return Check(probe, FAILED, f"{probe.label}: {shape}", ratio=math.inf, evidence=shape_evidence(probe, shape, truth))
    difference = _first_difference(got, truth, slack)
    ratio = max(map(_exact_ratio, got, truth, slack), default=0.0)
    if difference is None:
        return Check(probe, PASSED, ratio=ratio)
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
    return Check(probe, FAILED, reason, ratio=ratio, evidence=evidence)


def transform_slack(ctx: JudgeContext, probe: Probe, truth: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """What each output element may be off by on an exact probe: zero, unless transforms are legal."""
    reduction = ctx.contract.reduction
    magnitude = None if reduction is None or reduction.exact else ctx.oracle.magnitude(probe)
    if magnitude is None:
        return tuple(torch.zeros_like(item, dtype=torch.float64) for item in truth)
    u = format_of(probe.dtype).u
    return tuple(TRANSFORM_SLACK * size + 2 * u * item.abs() for size, item in zip(magnitude, truth, strict=True))


def _exact_ratio(got: Tensor, truth: Tensor, slack: Tensor) -> float:
    """Worst error over what is granted; where nothing is, any error is infinitely much."""
    error = _error(got, truth)
    return float(torch.where(error > 0, error / slack, 0.0).max()) if got.numel() else 0.0


def _first_difference(got: Sequence[Tensor], truth: Sequence[Tensor], slack: Sequence[Tensor]) -> tuple[int, int, int] | None:
    """(output, flat index, count) of the elements that are not the rounded truth; None when all are."""
    for output, (mine, want, granted) in enumerate(zip(got, truth, slack, strict=True)):
        wrong = _error(mine, want) > granted
        if bool(wrong.any()):
            return output, int(wrong.flatten().to(torch.int8).argmax()), int(wrong.sum())
    return None


def _error(got: Tensor, truth: Tensor) -> Tensor:
    """How far each element is from the truth rounded once to the output dtype; a NaN is infinitely far."""
    rounded = round_to(truth, str(got.dtype).removeprefix("torch.")) if got.dtype.is_floating_point else truth
    mine = got.to(torch.float64)
    error = torch.nan_to_num((mine - rounded).abs(), nan=math.inf, posinf=math.inf)
    return torch.where(mine == rounded, 0.0, error)


def as_eager_in_float32(oracle: Oracle, probe: Probe, output: int, mine: Tensor) -> Tensor:
    """Elements that are finite, NaN or infinite as the eager model's are on the same operands in float32; none in a wider dtype.

    A kernel may compute in float32 with torch's own functions, and some of those err: GELU of infinity is NaN on processors with
    AVX-512, but only in float32 and bfloat16.

    Args:
        oracle: Of the task.
        probe: The call.
        output: Which of its outputs.
        mine: What a kernel returned for it.
    """
    nothing = torch.zeros(mine.shape, dtype=torch.bool)
    if format_of(probe.dtype).precision >= format_of("float32").precision:
        return nothing
    eager = oracle.eager(probe, "float32")
    outputs = outputs_of(eager) if eager.ok else ()
    if len(outputs) <= output or outputs[output].shape != mine.shape:
        return nothing
    dtype = str(mine.dtype).removeprefix("torch.")
    return classes(round_to(outputs[output].to(torch.float64), dtype)) == classes(mine.to(torch.float64))
