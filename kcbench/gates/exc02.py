"""EXC-02, subnormals: one consistent behaviour, the contract's.

An element tells something when the result with subnormals kept differs from the result with them flushed. Each such element is
classed as ``preserve`` or ``flush``; the classes must agree with one another and with the contract.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kcbench.domain.probe import Probe, Recipe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext, real_inputs
from kcbench.gates.compare import (
    CRASH,
    FAILED,
    INVALID,
    PASSED,
    SKIPPED,
    Check,
    conclude,
    element,
    mismatch,
    outputs_of,
    reachable,
    refuse,
    where,
)
from kcbench.numerics.formats import classes, format_of, round_to

SMALL = {"float32": 2.0**-30, "bfloat16": 2.0**-30, "float16": 2.0**-10}
"""Largest values of the first control: far from subnormal, and nothing beside 1 in float32 (float16 ends before)."""
LARGER = {"float32": 2.0**-14, "bfloat16": 2.0**-22, "float16": 2.0**-8}
"""Largest values of the second: of most, beside 1, a few digits are left. In bfloat16 they span one power of two only."""
FEW_DIGITS = 4
"""Relative errors from so many unit roundoffs on show that digits are missing."""


def plan(ctx: PlanContext) -> list[Probe]:
    """Per varied input: subnormal values, values that cross the border between normal and subnormal, and controls for each."""
    found = [probe for question in _questions(ctx) for probe in (question.probe, question.control, question.larger)]
    return list({probe.id: probe for probe in found}.values())


@dataclass(frozen=True)
class _Question:
    """Subnormal values in one input.

    Attributes:
        probe: They themselves.
        control: The same values times a power of two that makes them small normal numbers. An element that loses those as well
            may flush nothing, but have too few digits, as ``exp(x) - 1`` has beside 1.
        larger: Subnormal values times a larger one, at which few digits are left of such a result, but not none. A kernel that
            is exact there has a border below which it flushes, wherever it lies.
        nothing: Zeros in their place.
    """

    probe: Probe
    control: Probe
    larger: Probe
    nothing: Probe


def _questions(ctx: PlanContext) -> Iterator[_Question]:
    # An additive parameter would drown every subnormal; multiplicative ones let them through.
    quiet: dict[str, Recipe] = {name: {"kind": "constant", "value": 0.0} for name in ctx.contract.parameters if "bias" in name}

    def question(label: str, name: str, recipe: dict[str, Any], dtype: str) -> _Question:
        def probe(label: str, recipe: dict[str, Any], stream: str) -> Probe:
            return ctx.probe(label, dtype=dtype, inputs={name: recipe}, parameters=quiet, stream=f"exc02/{stream}")

        control = {**recipe, "gain": recipe.get("gain", 1.0) * _enlarging(dtype, SMALL)}
        larger = {"kind": "subnormal", "gain": _enlarging(dtype, LARGER)}
        nothing = {"kind": "constant", "value": 0.0}
        return _Question(
            probe(label, recipe, label),
            probe(f"{label}, enlarged", control, label),
            probe(f"subnormal {name}, {dtype}, enlarged further", larger, f"larger {name}, {dtype}"),
            probe(f"{label}, zeros", nothing, label),
        )

    for name in real_inputs(ctx.contract):
        for dtype in ctx.dtypes:
            yield question(f"subnormal {name}, {dtype}", name, {"kind": "subnormal"}, dtype)
        border = {"kind": "normal", "gain": 2 * format_of(ctx.dtype).smallest_normal}
        yield question(f"{name} at the border, {ctx.dtype}", name, border, ctx.dtype)


def _enlarging(dtype: str, largest: Mapping[str, float]) -> float:
    """The power of two that takes the subnormal numbers of a dtype to normal ones."""
    return largest[dtype] / format_of(dtype).smallest_normal


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Nothing non-finite is minted, and subnormals fare as the contract says."""
    checks: list[Check] = []
    findings: dict[str, Finding] = {}
    asked = {probe.id for probe in probes}
    for question in _questions(ctx.plan):
        if question.probe.id not in asked:
            continue
        check, code = _check(ctx, question)
        checks.append(check)
        if check.status == FAILED:
            refuse(findings, check, code)
    nothing = ctx.contract.reasons.get("EXC-02", "no output depends on subnormal inputs")
    return conclude("EXC-02", list(findings.values()), checks, nothing=nothing)


def _check(ctx: JudgeContext, question: _Question) -> tuple[Check, str]:
    probe = question.probe
    gone = reachable(ctx, probe)
    if gone is not None:
        return gone, ""
    truth, got = ctx.oracle.truth(probe), outputs_of(ctx.seen(probe))
    eager = ctx.oracle.eager(probe)
    own = outputs_of(eager) if eager.ok else ()
    if mismatch(own, truth):
        return Check(probe, INVALID, "the eager model raises or has another shape"), ""
    if mismatch(got, truth):
        return Check(probe, SKIPPED, mismatch(got, truth)), ""
    flushed = ctx.oracle.truth(flushed_inputs(probe))
    for output, (mine, other, keep, flush) in enumerate(zip(got, own, truth, flushed, strict=True)):
        if not other.dtype.is_floating_point:
            continue
        dtype = str(other.dtype).removeprefix("torch.")
        minted = (
            (classes(round_to(keep, dtype)) == 0)
            & (classes(other.to(torch.float64)) == 0)
            & (classes(mine.to(torch.float64)) != 0)
        )
        if bool(minted.any()):
            flat = int(minted.flatten().to(torch.int8).argmax())
            facts = element(mine, keep, flat, output=output, kind="class", dtype=dtype)
            text = f"{probe.label}: element {facts['index']} is {facts['got']} although inputs and result are finite"
            return Check(probe, FAILED, text, True, math.inf, {**where(probe), **facts}), "minted"
        telling = _telling(keep, flush, dtype)
        if not bool(telling.any()):
            continue
        if ctx.contract.subnormals == "any":
            return Check(probe, PASSED), ""
        if not bool(_kept(other, keep, flush, dtype)[telling].all()):
            return Check(probe, INVALID, f"the eager model itself flushes subnormals at {dtype} on this device"), ""
        telling &= ~_lost(ctx, question, output)
        if not bool(telling.any()):
            return Check(probe, SKIPPED, "small normal numbers are lost as well: nothing is said about subnormal ones"), ""
        return _judge(ctx, probe, mine, keep, flush, telling, dtype, output)
    return Check(probe, SKIPPED, "no output element depends on the subnormals"), ""


def _lost(ctx: JudgeContext, question: _Question, output: int) -> Tensor:
    """Which elements of an output lose small normal numbers, for want of digits: none where the kernel has those digits."""
    nothing = ctx.oracle.truth(question.nothing)[output]
    small, larger = _seen(ctx, question.control, output), _seen(ctx, question.larger, output)
    if small is None or larger is None:
        return torch.zeros(nothing.shape, dtype=torch.bool)
    (mine, keep), (other, kept) = small, larger
    lost = (mine - nothing).abs() < (mine - keep).abs()
    gone = (other - nothing).abs() < (other - kept).abs()
    coarse = (other - kept).abs() > FEW_DIGITS * format_of(question.probe.dtype).u * (kept - nothing).abs()
    return lost if bool((coarse & ~gone).any()) else torch.zeros_like(lost)


def _seen(ctx: JudgeContext, probe: Probe, output: int) -> tuple[Tensor, Tensor] | None:
    """What the submission made of a control, and what is right; None without an answer that can be compared."""
    truth, seen = ctx.oracle.truth(probe), ctx.seen(probe)
    got = outputs_of(seen) if seen.ok else ()
    return None if mismatch(got, truth) else (got[output].to(torch.float64), truth[output])


def flushed_inputs(probe: Probe) -> Probe:
    """The same probe with every subnormal input value replaced by zero: a recipe modifier that the oracle understands."""
    inputs = {name: {**recipe, "flush": True} for name, recipe in probe.inputs.items()}
    return Probe(probe.label, probe.axes, probe.dtype, inputs, probe.parameters, probe.stream, probe.world)


def _telling(keep: Tensor, flush: Tensor, dtype: str) -> Tensor:
    """Elements where kept and flushed results lie apart by far more than rounding: flushing inputs (DAZ) or the output (FTZ)."""
    facts = format_of(dtype)
    kept, gone = round_to(keep, dtype), round_to(flush, dtype)
    slack = 64 * facts.eta + 2.0**-6 * kept.abs()
    return torch.isfinite(kept) & ((kept - _flushed(gone, dtype)).abs() > 2 * slack)


def _kept(got: Tensor, keep: Tensor, flush: Tensor, dtype: str) -> Tensor:
    """Which elements lie nearer to the result with subnormals kept than to the one with them flushed."""
    kept, gone = round_to(keep, dtype), round_to(flush, dtype)
    mine = got.to(torch.float64)
    return (mine - kept).abs() <= (mine - _flushed(gone, dtype)).abs()


def _flushed(values: Tensor, dtype: str) -> Tensor:
    return torch.where(values.abs() < format_of(dtype).smallest_normal, torch.zeros_like(values), values)


def _judge(
    ctx: JudgeContext, probe: Probe, got: Tensor, keep: Tensor, flush: Tensor, telling: Tensor, dtype: str, output: int
) -> tuple[Check, str]:
    kept = _kept(got, keep, flush, dtype)
    preserve = ctx.contract.subnormals == "preserve"
    wrong = telling & (~kept if preserve else kept)
    # A product in tf32 rounds the smallest subnormals to zero, though it flushes none.
    rounds = ctx.contract.precision == "tf32" and dtype == "float32"
    if float(wrong[telling].double().mean()) <= (0.5 if rounds else 0.0):
        return Check(probe, PASSED), ""
    flat = int(wrong.flatten().to(torch.int8).argmax())
    distance = float((round_to(keep, dtype) - _flushed(round_to(flush, dtype), dtype)).abs().flatten()[flat])
    owed = round_to(keep, dtype) if preserve else _flushed(round_to(flush, dtype), dtype)
    facts = element(got, owed, flat, output=output, tolerance=distance / 2, dtype=dtype)
    evidence = {**where(probe), **facts, "kept_share": float(kept[telling].to(torch.float64).mean())}
    if bool(wrong[telling].all()):
        what = "flushed to zero" if preserve else "kept"
        text = f"{probe.label}: subnormals are {what}: {facts['got']} instead of {facts['expected']} at {facts['index']}"
        return Check(probe, FAILED, text, True, math.inf, evidence), "flushed"
    text = f"{probe.label}: {evidence['kept_share']:.0%} of the telling elements keep subnormals and the rest flush them"
    return Check(probe, FAILED, text, True, math.inf, evidence), "inconsistent"


GATE = Gate(
    id="EXC-02",
    title="subnormals",
    tolerance_free=True,
    codes=("flushed", "inconsistent", "minted", CRASH),
    plan=plan,
    judge=judge,
)
