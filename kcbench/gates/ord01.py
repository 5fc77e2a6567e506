"""ORD-01, summation order: permuting the reduced axis moves the result by rounding only.

Any order of summation is legal. A kernel whose result depends on *where* a value stands drops, duplicates or misweights terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from kcbench.domain.probe import Probe, Recipe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext, ordinary_inputs
from kcbench.gates.compare import (
    CRASH,
    FAILED,
    INVALID,
    PASSED,
    Check,
    conclude,
    element,
    finite,
    outputs_of,
    reachable,
    refuse,
    transform_slack,
    where,
)
from kcbench.gates.designed import designed
from kcbench.numerics.formats import format_of, round_to
from kcbench.numerics.stochastic import KAPPA

_KEY = "ord01"


def plan(ctx: PlanContext) -> list[Probe]:
    """Pairs of probes: as drawn, and permuted; ordinary values, then the contract's integers."""
    return [probe for pair in _pairs(ctx) for probe in pair]


def _pairs(ctx: PlanContext) -> list[tuple[Probe, Probe]]:
    reduction = ctx.contract.reduction
    if reduction is None or not reduction.permutable or not reduction.operands:
        return []
    if not ctx.redraw and any(name.startswith("parameter:") for name, _ in reduction.operands):
        return []
    pairs = [_pair(ctx, "permuted", {}, {}, {}, "ord01/normal")]
    for index, item in enumerate(designed(ctx, "integers")[:1]):
        pairs.append(_pair(ctx, "permuted integers", item.inputs, item.parameters, item.axes, f"ord01/integers/{index}"))
    return pairs


def _pair(
    ctx: PlanContext,
    label: str,
    inputs: Mapping[str, Recipe],
    parameters: Mapping[str, Recipe],
    axes: Mapping[str, int],
    stream: str,
) -> tuple[Probe, Probe]:
    inputs = {**ordinary_inputs(ctx.contract), **inputs}
    parameters = {**ctx.contract.parameters, **parameters}
    moved_inputs, moved_parameters = dict(inputs), dict(parameters)
    for name, dim in ctx.contract.reduction.operands if ctx.contract.reduction else ():
        target = moved_parameters if name.startswith("parameter:") else moved_inputs
        key = name.removeprefix("parameter:")
        target[key] = {"kind": "permuted", "base": target[key], "dim": dim, "perm": _KEY}
    plain = ctx.probe(f"{label}: as drawn", axes=axes, inputs=inputs, parameters=parameters, stream=stream)
    moved = ctx.probe(label, axes=axes, inputs=moved_inputs, parameters=moved_parameters, stream=stream)
    return plain, moved


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """The two results of a pair differ by no more than both bounds together; integers not at all."""
    findings: dict[str, Finding] = {}
    checks: list[Check] = []
    for index, (plain, moved) in enumerate(_pairs(ctx.plan)):
        check = _check(ctx, plain, moved, exact=index > 0)
        checks.append(check)
        if check.status == FAILED:
            refuse(findings, check, "order", probes=() if check.crashed else (plain.id, moved.id))
    nothing = ctx.contract.reasons.get("ORD-01", "the task has no axis whose order is free")
    return conclude("ORD-01", list(findings.values()), checks, nothing=nothing)


def _check(ctx: JudgeContext, plain: Probe, moved: Probe, *, exact: bool) -> Check:
    for probe in (plain, moved):
        gone = reachable(ctx, probe)
        if gone is not None:
            return gone
    if not (ctx.oracle.eager(plain).ok and ctx.oracle.eager(moved).ok):
        return Check(moved, INVALID, "the eager model raises")
    own = _pair_ratio(ctx, plain, moved, outputs_of(ctx.oracle.eager(plain)), outputs_of(ctx.oracle.eager(moved)), exact)
    if own is None or own[0] > 1:
        return Check(moved, INVALID, "the eager model itself depends on the order beyond the bound")
    got = _pair_ratio(ctx, plain, moved, outputs_of(ctx.seen(plain)), outputs_of(ctx.seen(moved)), exact)
    if got is None:
        evidence = {**where(moved), "kind": "shape"}
        return Check(moved, FAILED, "the outputs of the two calls differ in shape", True, math.inf, evidence)
    if got[0] <= 1:
        return Check(moved, PASSED, ratio=got[0])
    evidence = {**where(moved), **got[1], "ratio": finite(got[0])}
    text = f"permuting the reduced axis moves element {evidence['index']} from {evidence['expected']} to {evidence['got']}"
    return Check(moved, FAILED, text, True, got[0], evidence)


def _pair_ratio(
    ctx: JudgeContext, plain: Probe, moved: Probe, a: Sequence[Tensor], b: Sequence[Tensor], exact: bool
) -> tuple[float, dict[str, object]] | None:
    reduction = ctx.contract.reduction
    truth, other_truth = ctx.oracle.truth(plain), ctx.oracle.truth(moved)
    if len(a) != len(truth) or any(x.shape != t.shape or y.shape != t.shape for x, y, t in zip(a, b, truth, strict=False)):
        return None
    top, evidence = 0.0, {}
    for index, (x, y, t) in enumerate(zip(a, b, truth, strict=True)):
        dtype = str(x.dtype).removeprefix("torch.")
        left, right = x.to(torch.float64), y.to(torch.float64)
        facts = format_of(dtype)
        tolerance = 2 * transform_slack(ctx, plain, truth)[index]
        if not exact:
            sigma = ctx.oracle.estimate(plain).sigma[index]
            tolerance = KAPPA * math.sqrt(2) * sigma + 2 * (facts.u * t.abs() + facts.eta)
        order = None
        if reduction is not None and reduction.output_dim is not None:
            order = _order(t, other_truth[index], reduction.output_dim)
            left, tolerance = (item.index_select(reduction.output_dim, order) for item in (left, tolerance))
        comparable = torch.isfinite(round_to(other_truth[index], dtype))
        error = torch.nan_to_num((left - right).abs(), nan=math.inf)
        ratio = torch.where(error == 0, 0.0, torch.where(tolerance > 0, error / tolerance, math.inf))
        ratio = torch.where(comparable, ratio, 0.0)
        if ratio.numel() and float(ratio.max()) > top:
            top = float(ratio.max())
            flat = int(ratio.flatten().argmax())
            evidence = element(
                right, left, flat, output=index, tolerance=float(tolerance.flatten()[flat]), dtype=dtype, kind="pair"
            )
            if order is not None:
                evidence |= {"order": order.tolist(), "order_dim": reduction.output_dim if reduction else None}
    return top, evidence


def _order(plain: Tensor, moved: Tensor, dim: int) -> Tensor:
    """The permutation p with ``moved == plain.index_select(dim, p)``, from the float64 truths."""
    rows = plain.movedim(dim, 0).flatten(1)
    target = moved.movedim(dim, 0).flatten(1)
    return torch.cdist(target, rows).argmin(1)


GATE = Gate(id="ORD-01", title="summation order", tolerance_free=False, codes=("order", CRASH), plan=plan, judge=judge)
