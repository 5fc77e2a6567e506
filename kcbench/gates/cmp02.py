"""CMP-02, gradient: the VJP agrees with float64 autograd for random cotangents."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kcbench.domain.contract import Gradient
from kcbench.domain.probe import NORMAL, Probe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext
from kcbench.gates.compare import (
    CRASH,
    FAILED,
    INVALID,
    PASSED,
    SKIPPED,
    TRANSFORM_SLACK,
    Check,
    conclude,
    element,
    finite,
    reachable,
    refuse,
    where,
)
from kcbench.gates.sizes import class_sizes, elements, least_sizes, stretched, tuned, varying_axes, whole_tiles
from kcbench.gates.value import EAGER_FACTOR, check_value
from kcbench.numerics.formats import decode, format_of
from kcbench.numerics.stochastic import KAPPA, z_score

_DECLINES = re.compile(
    r"not (yet )?(implemented|supported(?! between)|available|differentiable|defined|provided|needed|allowed)"
    r"|unsupported(?! operand)"
    r"|does not support|no backward|without backward"
    r"|(forward|inference)[- ]only|only (the )?forward",
    re.IGNORECASE,
)
"""What an exception says in which a kernel declines to be differentiated. Torch's own say "Backward" of a broken one, too, and
Python's "unsupported operand type(s)" and "not supported between instances"."""


COARSE = 2.0**-8
"""Error of a gradient, over its own largest element, below which no closer look is taken at the sizes of :func:`_coarse`."""
PAST_A_TILE = 129
STEEP = 1024.0
"""Scale of one probe's cotangents: a gradient follows it exactly, unless it is cut off. Too much for float16's range."""
TRANSFORM_NORM = 2.0
"""Largest magnitude of what a gradient adds up, over its own largest element; a transform errs by a share of the former."""
GRADIENT_BUDGET = 1 << 15
"""Most elements that an input may have where sizes are not the gate's: two evaluations and their noise belong to each."""


def plan(ctx: PlanContext) -> list[Probe]:
    """Draws away from kinks: at unit scale and at three times unit scale; and at sizes that backward passes are wrong at.

    These are the least ones, whole tiles, and each axis past a tile: a gradient that is summed over several programs is summed
    by one only where everything is small. CMP-03 asks for the same sizes, and for those of :func:`_coarse`.
    """
    gradient = ctx.contract.gradient
    if gradient is None:
        return []
    probes = [*_close(ctx, gradient), *_coarse(ctx, gradient)]
    return list({probe.id: probe for probe in probes}.values())


def _close(ctx: PlanContext, gradient: Gradient) -> list[Probe]:
    """Those that the derived bound is asked about."""
    probes = [_probe(ctx, gradient, "gradient", {}), _probe(ctx, gradient, "gradient x3", {}, gain=3.0, steep=True)]
    sizes = {"all axes at their least": least_sizes(ctx.contract), "whole tiles": whole_tiles(ctx)}
    for name, axis in varying_axes(ctx.contract).items():
        for size in class_sizes(axis, (PAST_A_TILE,))[-1:]:
            if size > axis.gate:
                sizes[f"{name}={size}"] = stretched(ctx, name, size)
    for label, changed in sizes.items():
        if changed and elements(ctx, changed) <= GRADIENT_BUDGET:
            probes.append(_probe(ctx, gradient, f"gradient, {label}", changed))
    return probes


def _coarse(ctx: PlanContext, gradient: Gradient) -> list[Probe]:
    """Each axis at its least, and at the largest size that a kernel may be tuned for; whole tiles that are large.

    A backward pass that takes a path of its own there, or leaves out what lies beyond a block, is wrong by as much as the
    gradient itself. To derive a bound costs ten times as much as to see that. Where nothing is seen nothing was proven: such a
    look counts as no check.
    """
    sizes = [{name: size} for name, size in least_sizes(ctx.contract).items() if size != ctx.contract.axes[name].gate]
    whole = whole_tiles(ctx)
    if whole and elements(ctx, whole) > GRADIENT_BUDGET:
        sizes.append(whole)
    if not ctx.interpreted:
        sizes += [pair[-1] for name in varying_axes(ctx.contract) if (pair := tuned(ctx, name))]
    named = ((", ".join(f"{name}={size}" for name, size in item.items()), item) for item in sizes)
    return [_probe(ctx, gradient, f"gradient at {label}", item) for label, item in named]


def _probe(
    ctx: PlanContext, gradient: Gradient, label: str, sizes: Mapping[str, int], *, gain: float = 1.0, steep: bool = False
) -> Probe:
    inputs: dict[str, dict[str, Any]] = {}
    for name in gradient.inputs:
        item = ctx.contract.input(name)
        if item.domain == "real":
            inputs[name] = {"kind": "away", "kinks": list(gradient.kinks)} if gradient.kinks else {"kind": "normal"}
            inputs[name]["gain"] = min(gain, item.max_scale)
    cotangent = {**NORMAL, "gain": STEEP} if steep and ctx.dtype != "float16" else NORMAL
    return ctx.probe(label, axes=sizes, inputs=inputs, stream=f"cmp02/{label}", gradient=True, cotangent=cotangent)


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Every gradient that the kernel offers is right; none is missing where the contract requires it."""
    gradient = ctx.contract.gradient
    if gradient is None:
        return conclude("CMP-02", [], [], nothing=ctx.contract.reasons.get("CMP-02", "the contract asks for no gradient"))
    checks: list[Check] = []
    findings: dict[str, Finding] = {}
    coarse = {probe.id for probe in _coarse(ctx.plan, gradient)} - {probe.id for probe in _close(ctx.plan, gradient)}
    for probe in probes:
        check, code = _check(ctx, probe, gradient.required, coarse=probe.id in coarse)
        if check is None:
            continue
        checks.append(check)
        if check.status == FAILED:
            refuse(findings, check, code)
            continue
        if probe.id in coarse:
            continue
        # A call that is differentiated may take a path of its own, and its value counts as well.
        value = check_value(ctx, probe)
        if value.status == FAILED:
            refuse(findings, value, "forward")
    return conclude("CMP-02", list(findings.values()), checks, nothing="no gradient could be taken")


def _check(ctx: JudgeContext, probe: Probe, required: bool, *, coarse: bool) -> tuple[Check | None, str]:
    """What a call shows, and the code for it if it is refused; None where a coarse look shows nothing."""
    seen = ctx.seen(probe)
    gone = reachable(ctx, probe)
    if gone is not None:
        return gone, ""
    wanted = ctx.oracle.gradient_names(probe)
    offered = {name for name in wanted if seen.gradients.get(name) is not None}
    # Where no input may be varied the contract asks for parameters alone.
    over_inputs = {name for name in wanted if name.startswith("input:")} or set(wanted)
    if seen.gradient_status == "raised":
        message = seen.raised.message if seen.raised else ""
        evidence = {**where(probe), "kind": "missing-gradient", "message": message, "gradients": list(wanted)}
        if not required and not _differentiable(seen.raised.type if seen.raised else "", message):
            return Check(probe, SKIPPED, f"forward only: {message[:120]}"), "missing"
        return Check(probe, FAILED, f"the backward pass raised: {message[:160]}", False, math.inf, evidence), "missing"
    if seen.gradient_status == "no-grad" or not offered & over_inputs:
        if not required:
            return Check(probe, SKIPPED, "forward only: the output does not depend on the inputs for autograd"), "missing"
        evidence = {**where(probe), "kind": "missing-gradient", "gradients": list(wanted)}
        return Check(
            probe, FAILED, "the output carries no gradient with respect to the inputs", True, math.inf, evidence
        ), "missing"
    truth = ctx.oracle.gradient_truth(probe)
    # A kernel that has not all of the task's names owes nothing under those that it calls otherwise; one that has them owes all.
    asked = [name for name in wanted if ctx.plan.redraw or name in seen.gradients or name.startswith("input:")]
    missing = [name for name in asked if name not in offered and bool(truth[name].count_nonzero())]
    if missing:
        evidence = {**where(probe), "kind": "missing-gradient", "gradients": missing}
        text = f"autograd gives no gradient for {missing[0]} although the output depends on it"
        return Check(probe, FAILED, text, True, math.inf, evidence), "missing"
    names = [name for name in wanted if name in offered]
    if coarse and _near(ctx, probe, names):
        return None, ""
    return _compare(ctx, probe, names), "vjp"


def _near(ctx: JudgeContext, probe: Probe, names: Sequence[str]) -> bool:
    """Whether nothing but rounding can be wrong with some gradients."""
    truth, seen = ctx.oracle.gradient_truth(probe), ctx.seen(probe)
    for name in names:
        want, record = truth[name], seen.gradients[name]
        got = None if record is None else decode(record)
        if got is None or got.shape != want.shape:
            return False
        error = torch.nan_to_num((got.to(torch.float64) - want).abs(), nan=math.inf)
        if want.numel() and float(error.max()) > COARSE * float(want.abs().max()):
            return False
    return True


def _differentiable(kind: str, message: str) -> bool:
    """Whether a raise in backward means a broken backward, rather than a kernel that never claimed one."""
    return kind != "NotImplementedError" and not _DECLINES.search(message)


def _compare(ctx: JudgeContext, probe: Probe, names: Sequence[str]) -> Check:
    truth, estimate = ctx.oracle.gradient_truth(probe), ctx.oracle.gradient_estimate(probe)
    order = ctx.oracle.gradient_names(probe)
    reduction = ctx.contract.reduction
    transforms = TRANSFORM_NORM * TRANSFORM_SLACK if reduction is not None and not reduction.exact else 0.0
    eager = ctx.oracle.eager(probe)
    seen = ctx.seen(probe)
    worst = Check(probe, SKIPPED, "no gradient can be compared")
    for name in names:
        want, sigma = truth[name], estimate.sigma[order.index(name)]
        left_out = estimate.ambiguous[order.index(name)]
        own, record = eager.gradients.get(name), seen.gradients[name]
        if own is None or record is None or want.numel() == 0:
            continue
        got = decode(record)
        if got.shape != want.shape:
            evidence = {
                **where(probe),
                "kind": "shape",
                "gradient": name,
                "message": f"{list(got.shape)} instead of {list(want.shape)}",
            }
            return Check(probe, FAILED, f"the gradient of {name} has the wrong shape", True, math.inf, evidence)
        dtype = own.dtype
        # Gradients that are mathematically zero (a bias before a norm) are pure noise: measure them against the largest gradient.
        floor = 4 * format_of(dtype).u * max(float(t.abs().max()) for t in truth.values() if t.numel())
        # cuDNN takes transforms for gradients that it takes none for in the forward pass, and eager may be given another.
        floor += transforms * float(want.abs().max())
        base = float(_ratio(decode(own), want, sigma, floor, dtype).masked_fill(left_out, 0.0).max())
        if base > 1:
            worst = (
                worst
                if worst.status == PASSED
                else Check(probe, INVALID, f"the eager model's own gradient of {name} breaks the bound")
            )
            continue
        # As for values: where eager comes close to the line, honest kernels may err more than eager.
        limit = max(1.0, EAGER_FACTOR * base)
        ratio = _ratio(got, want, sigma, floor, dtype).masked_fill(left_out, 0.0) / limit
        top = float(ratio.max())
        if top > 1:
            flat = int(ratio.flatten().argmax())
            tolerance = float((limit * KAPPA * sigma + floor).flatten()[flat])
            facts = element(got, want, flat, output=0, tolerance=tolerance, dtype=dtype, kind="gradient")
            evidence = {**where(probe), **facts, "gradient": name, "ratio": finite(top)}
            text = f"the gradient of {name} at {facts['index']} is {facts['got']} instead of {facts['expected']}"
            return Check(probe, FAILED, text, True, top, evidence)
        if worst.status != PASSED or top > worst.ratio:
            worst = Check(probe, PASSED, ratio=top)
    return worst


def _ratio(got: torch.Tensor, want: torch.Tensor, sigma: torch.Tensor, floor: float, dtype: str) -> torch.Tensor:
    error = torch.nan_to_num((got.to(torch.float64) - want).abs(), nan=math.inf, posinf=math.inf)
    error = (error - floor).clamp_min(0)
    return torch.nan_to_num(z_score(error, want, sigma, dtype=dtype), nan=math.inf) / KAPPA


GATE = Gate(
    id="CMP-02", title="gradient", tolerance_free=False, codes=("vjp", "missing", "forward", CRASH), plan=plan, judge=judge
)
