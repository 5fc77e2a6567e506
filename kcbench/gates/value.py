"""Whether outputs lie within the derived bound around the truth: the question that most gates ask.

What does not depend on the submission, the line of each element and how far eager itself is from it, is worked out once for each
probe and kept with the oracle's other answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kcbench.domain.probe import Probe
from kcbench.gates.base import JudgeContext
from kcbench.gates.compare import (
    FAILED,
    INVALID,
    PASSED,
    SKIPPED,
    Check,
    element,
    finite,
    mismatch,
    outputs_of,
    reachable,
    shape_evidence,
    where,
)
from kcbench.numerics import bounds
from kcbench.numerics.constants import constants
from kcbench.numerics.formats import classes, dtype_name, format_of, round_to
from kcbench.numerics.stochastic import KAPPA, z_score

EAGER_FACTOR = constants().eager_factor
"""How much further than eager's own worst element, in units of the bound, an honest kernel may be off."""

HALVES = ("float16", "bfloat16")
"""Dtypes in which a result may be stored once more than eager does it. Libraries do that: torch's own softmax on a CPU keeps its
exponentials in the output's memory where the rows lie apart."""
SIDES = 64
"""Fewest elements by which a result that is cut is told from one that is rounded."""


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
    if not ctx.oracle.eager(probe).ok:
        return Check(probe, INVALID, "the eager model raises")
    truth = ctx.oracle.truth(probe)
    got = outputs_of(ctx.seen(probe))
    shape = mismatch(got, truth)
    if shape:
        return Check(probe, FAILED, f"{probe.label}: {shape}", ratio=math.inf, evidence=shape_evidence(probe, shape, truth))
    kind = f"standard/{ctx.bounds}/{any_order}"
    standard = ctx.oracle.remember(kind, probe, lambda: _standard(ctx, probe, any_order))
    if standard.invalid:
        return Check(probe, INVALID, standard.invalid)
    # Where eager itself comes close to the line the model is tight for this task, and honest kernels may err more than eager.
    limit = max(grant, EAGER_FACTOR * standard.eager)
    worst = _worst(standard.lines, got)
    if worst is None:
        return Check(probe, SKIPPED, "no element can be compared")
    ratio = worst.ratio / limit
    if ratio <= 1:
        return Check(probe, PASSED, ratio=ratio)
    line = standard.lines[worst.output]
    tolerance = float(line.tolerance.flatten()[worst.flat])
    if line.stored is not None and line.granted(got[worst.output]) is None:
        tolerance -= float(line.stored.flatten()[worst.flat])
    facts = element(got[worst.output], line.want, worst.flat, output=worst.output, tolerance=tolerance, dtype=line.dtype)
    reason = f"{probe.label}: element {facts['index']} is {facts['got']} instead of {facts['expected']}"
    if math.isfinite(ratio):
        reason += f", {ratio:.3g} times the allowed error"
    return Check(probe, FAILED, reason, ratio=ratio, evidence={**where(probe), **facts, "ratio": finite(ratio)})


@dataclass(frozen=True)
class _Line:
    """What the elements of one output may be off by."""

    want: Tensor
    dtype: str
    """Eager's, which the submission's must be."""
    tolerance: Tensor
    exact: bool = False
    """Whether values must be equal: those of a dtype without rounding."""
    sigma: Tensor | None = None
    """None under the classic bound, and where values must be equal."""
    stored: Tensor | None = None
    """What a store of an intermediate result in the dtype of the output may add; None in dtypes where that is no honest thing."""
    widest: Tensor | None = None
    """The closed-form bound, where it is granted as well."""
    classes: Tensor | None = None
    """Class of each element of the rounded truth; None where all are finite."""
    left_out: Tensor | None = None
    """Elements that are not compared; None where all are."""

    def granted(self, got: Tensor) -> Tensor | None:
        """What is granted for a store, if anything: nothing to a result that was cut."""
        cut = self.stored is not None and _one_sided(got.to(torch.float64) - self.want, self.want, self.stored)
        return None if cut else self.stored

    def ratios(self, got: Tensor) -> Tensor:
        """Error over tolerance per element, NaN where an element is left out, inf where its class is wrong."""
        got = got.to(torch.float64)
        if self.exact:
            return torch.where(got == self.want, 0.0, math.inf)
        error = torch.nan_to_num((got - self.want).abs(), nan=math.inf, posinf=math.inf)
        stored = self.granted(got)
        if stored is not None:
            error = (error - stored).clamp_min(0)
        if self.sigma is None:
            ratio = error / self.tolerance
        else:
            ratio = torch.nan_to_num(z_score(error, self.want, self.sigma, dtype=self.dtype), nan=math.inf) / KAPPA
        if self.widest is not None:
            ratio = torch.where(self.widest >= self.tolerance, error / self.widest, ratio)
        if self.classes is not None or not bool(torch.isfinite(got).all()):
            wanted = torch.zeros(self.want.shape, dtype=torch.int8) if self.classes is None else self.classes
            same = classes(got) == wanted
            ratio = torch.where((wanted == 0) & same, ratio, torch.where(same, 0.0, math.inf))
        return ratio if self.left_out is None else ratio.masked_fill(self.left_out, math.nan)


def _one_sided(error: Tensor, want: Tensor, unit: Tensor) -> bool:
    """Whether all errors lie on one side of the truth, or towards zero, as those of a result whose last bits are cut off do.

    However often a result is rounded, its errors lie on both. ``unit`` is the roundoff of each element.
    """
    told = torch.isfinite(error) & (error.abs() > unit / 64) & (unit > 0)
    if int(told.sum()) < SIDES:
        return False
    signs = error[told].sign()
    return any(bool((side == side[0]).all()) for side in (signs, signs * want[told].sign()))


@dataclass(frozen=True)
class _Standard:
    """What every submission's outputs of one probe are held against."""

    lines: tuple[_Line, ...] = ()
    eager: float = 0.0
    """Eager's own worst element, in units of the bound."""
    invalid: str = ""
    """Why nothing can be held against it."""


@dataclass(frozen=True)
class _Worst:
    """The element with the largest error in units of its tolerance."""

    ratio: float
    output: int
    flat: int


def _standard(ctx: JudgeContext, probe: Probe, any_order: bool) -> _Standard:
    truth = ctx.oracle.truth(probe)
    if ctx.oracle.estimate(probe).vacuous:
        return _Standard(invalid="the task amplifies rounding beyond use on these inputs")
    eager = outputs_of(ctx.oracle.eager(probe))
    if mismatch(eager, truth):
        return _Standard(invalid="the eager model disagrees with the reference about the output's shape")
    spread = ctx.oracle.magnitude(probe) if any_order else None
    lines = tuple(
        _line(ctx, probe, index, mine, want, None if spread is None else spread[index])
        for index, (mine, want) in enumerate(zip(eager, truth, strict=True))
    )
    own = _worst(lines, eager)
    if own is not None and own.ratio > 1:
        return _Standard(invalid=f"the eager model itself is {own.ratio:.3g} times outside the bound at {probe.dtype}")
    return _Standard(lines, 0.0 if own is None else own.ratio)


def _line(ctx: JudgeContext, probe: Probe, index: int, eager: Tensor, want: Tensor, spread: Tensor | None) -> _Line:
    dtype = dtype_name(eager.dtype)
    if not eager.dtype.is_floating_point:
        return _Line(want, dtype, torch.zeros_like(want), exact=True)
    facts, length = format_of(dtype), ctx.contract.reduction_length(probe.axes)
    wanted = classes(round_to(want, dtype))
    left_out = classes(eager.to(torch.float64)) != wanted
    # Close to the overflow line, which side a correct kernel rounds to is luck.
    left_out |= (want.abs() > 0.98 * facts.max) & (want.abs() < 1.02 * facts.max) & torch.isfinite(want)
    sigma = widest = stored = None
    if ctx.bounds == "classic":
        tolerance = bounds.classic(want, dtype=dtype, length=length).expand_as(want)
    else:
        estimate = ctx.oracle.estimate(probe)
        sigma = estimate.sigma[index]
        # The submission may have legal order-dependent noise of its own at the last store: u_out |y| + eta, beside kappa sigma.
        tolerance = KAPPA * sigma + facts.u * want.abs() + facts.eta
        if dtype in HALVES:
            stored = torch.where(torch.isfinite(want), facts.u * want.abs(), 0.0)
            tolerance = tolerance + stored
        left_out |= estimate.ambiguous[index]
    if spread is not None:
        regime = "tf32" if ctx.contract.precision == "tf32" else "ieee"
        widest = bounds.closed_form(want, spread, length=length, outputs=want.numel(), dtype=dtype, regime=regime)
        tolerance = torch.maximum(tolerance, widest)
    return _Line(
        want,
        dtype,
        tolerance,
        sigma=sigma,
        stored=stored,
        widest=widest,
        classes=wanted if bool(wanted.any()) else None,
        left_out=left_out if bool(left_out.any()) else None,
    )


def _worst(lines: Sequence[_Line], got: Sequence[Tensor]) -> _Worst | None:
    """The worst element over all outputs; None when none can be compared."""
    worst: _Worst | None = None
    for index, (line, mine) in enumerate(zip(lines, got, strict=True)):
        if line.want.numel() == 0:
            worst = worst or _Worst(0.0, index, 0)
            continue
        ratio = torch.nan_to_num(line.ratios(mine), nan=-1.0, posinf=math.inf)
        flat = int(ratio.argmax())
        value = float(ratio.flatten()[flat])
        if value >= 0 and (worst is None or value > worst.ratio):
            worst = _Worst(value, index, flat)
    return worst
