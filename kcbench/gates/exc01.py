"""EXC-01, non-finite propagation: NaN and infinities come out where IEEE arithmetic puts them.

One poison at a time, in the first tile, in the middle, at the usual tile edge and in the tail, in each floating input. The
class of every output element (finite, NaN, +Inf, -Inf) is compared with the float64 oracle's, where same-dtype eager agrees
with the oracle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from kcbench.domain.probe import Probe, Recipe
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext, float_inputs, item_recipe, real_inputs
from kcbench.gates.compare import (
    CLASS_NAMES,
    CRASH,
    FAILED,
    INVALID,
    PASSED,
    SKIPPED,
    Check,
    as_eager_in_float32,
    conclude,
    element,
    mismatch,
    outputs_of,
    reachable,
    refuse,
    where,
)
from kcbench.gates.dependence import dependent
from kcbench.numerics.formats import classes, format_of, round_to

TILE = 128
"""Width of the tile whose edge is poisoned, where the input is wide enough."""
LARGE = 2.0**60
"""A huge finite value whose square is finite in float32 and bfloat16 too: what overflows on it does so without need."""


def plan(ctx: PlanContext) -> list[Probe]:
    """Per input: NaN in every region, infinities in two, both at once, a huge finite value; NaN and infinity among zeros."""
    probes: list[Probe] = [ctx.probe("no poison", stream="exc01")]
    for name in float_inputs(ctx.contract):
        shape = ctx.contract.shape(ctx.contract.input(name), ctx.contract.sizes())
        if not shape or math.prod(shape) == 0 or ctx.contract.input(name).structured:
            continue
        for region, value, cells in _poisons(shape):
            if value == [LARGE] and name not in real_inputs(ctx.contract):
                continue
            recipe = {"kind": "poison", "base": item_recipe(ctx.contract, name), "at": cells, "values": value}
            label = f"{'/'.join(str(item) for item in dict.fromkeys(value))} in {name}, {region}"
            probes.append(ctx.probe(label, inputs={name: recipe}, stream="exc01"))
    return [*probes, *_among_zeros(ctx), *_other_dtypes(ctx)]


def _among_zeros(ctx: PlanContext) -> Iterator[Probe]:
    """A poison in an input of zeros, and in one input while the others are zero: 0 times NaN is NaN, and 0 times infinity too."""
    zero = {"kind": "constant", "value": 0.0}
    real = [name for name in real_inputs(ctx.contract) if ctx.contract.shape(ctx.contract.input(name), ctx.contract.sizes())]
    for name, value in itertools.product(real, ("nan", "inf")):
        shape = ctx.contract.shape(ctx.contract.input(name), ctx.contract.sizes())
        poison = {"kind": "poison", "at": [[size - 1 for size in shape]], "values": [value]}
        alone = {name: {**poison, "base": zero}}
        yield ctx.probe(f"{value} in {name} among zeros", inputs=alone, stream="exc01/zeros")
        if len(real) > 1:
            inputs: dict[str, Recipe] = {**dict.fromkeys(real, zero), name: {**poison, "base": item_recipe(ctx.contract, name)}}
            yield ctx.probe(f"{value} in {name} against zeros", inputs=inputs, stream="exc01/zeros")


def _other_dtypes(ctx: PlanContext) -> Iterator[Probe]:
    """NaN and +Inf in the tail of each input, in the dtypes after the first: kernels may take another path for them."""
    for dtype, name in itertools.product(ctx.dtypes[1:], float_inputs(ctx.contract)):
        shape = ctx.contract.shape(ctx.contract.input(name), ctx.contract.sizes())
        for value in ("nan", "inf") if shape and not ctx.contract.input(name).structured else ():
            recipe = {
                "kind": "poison",
                "base": item_recipe(ctx.contract, name),
                "at": [[size - 1 for size in shape]],
                "values": [value],
            }
            yield ctx.probe(f"{value} in {name}, tail, {dtype}", dtype=dtype, inputs={name: recipe}, stream="exc01")


def _poisons(shape: tuple[int, ...]) -> Iterator[tuple[str, list[str | float], list[list[int]]]]:
    """(region, values, positions) of each poisoned copy of an input."""
    cells = (
        ("first", tuple(0 for _ in shape)),
        ("middle", tuple(size // 2 for size in shape)),
        ("tile edge", tuple(min(TILE if dim == len(shape) - 1 else size // 3, size - 1) for dim, size in enumerate(shape))),
        ("tail", tuple(size - 1 for size in shape)),
    )
    regions: dict[tuple[int, ...], str] = {}
    for name, cell in cells:
        regions.setdefault(cell, name)
    for cell, region in regions.items():
        yield region, ["nan"], [list(cell)]
    first, tail = cells[0][1], cells[-1][1]
    for value, cell in itertools.product(("inf", "-inf"), dict.fromkeys((first, tail))):
        yield regions[cell], [value], [list(cell)]
    beside = _neighbour(first, shape)
    if beside != first:
        yield "neighbours", ["inf", "-inf"], [list(first), list(beside)]
    yield regions[tail], [LARGE], [list(tail)]


def _neighbour(cell: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*cell[:-1], min(cell[-1] + 1, shape[-1] - 1))


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Class masks agree with the oracle; ``at_least`` contracts allow more NaN, never less."""
    checks: list[Check] = []
    findings: dict[str, Finding] = {}
    for probe in probes:
        check, code = _check(ctx, probe)
        checks.append(check)
        if check.status == FAILED:
            refuse(findings, check, code)
    return conclude("EXC-01", list(findings.values()), checks, nothing="the task has no floating input")


def _check(ctx: JudgeContext, probe: Probe) -> tuple[Check, str]:
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
    poisoned = any(recipe["values"] != [LARGE] for recipe in _poisoned(probe).values())
    compared = 0
    for output, (mine, other, want) in enumerate(zip(got, own, truth, strict=True)):
        if not other.dtype.is_floating_point:
            continue
        dtype = str(other.dtype).removeprefix("torch.")
        expected = classes(round_to(want, dtype))
        # An oracle that is finite but close to the overflow line says nothing about either side of it.
        agreed = (classes(other.to(torch.float64)) == expected) & ~_near_overflow(want, dtype)
        compared += int(agreed.sum())
        for code, wrong in _faults(classes(mine.to(torch.float64)), expected, poisoned, ctx.contract.nonfinite, _only_nan(probe)):
            if code == "sign" and not _signs_are_sure(ctx, probe):
                continue
            wrong &= agreed
            if bool(wrong.any()):
                wrong &= ~as_eager_in_float32(ctx.oracle, probe, output, mine)
            if code == "absorbed" and _poisoned(probe) and bool(wrong.any()):
                wrong = _owed(ctx, probe, output, wrong, torch.isfinite(mine))
            if bool(wrong.any()):
                flat = int(wrong.flatten().to(torch.int8).argmax())
                facts = element(mine, round_to(want, dtype), flat, output=output, kind="class", dtype=dtype)
                facts["expected_class"] = CLASS_NAMES[int(expected.flatten()[flat])]
                evidence = {**where(probe), **facts, "wrong": int(wrong.sum())}
                text = f"{probe.label}: element {facts['index']} is {facts['got']} instead of {facts['expected']}"
                return Check(probe, FAILED, text, True, math.inf, evidence), code
    if not compared:
        return Check(probe, INVALID, "eager and the float64 oracle disagree about every element"), ""
    return Check(probe, PASSED), ""


def _poisoned(probe: Probe) -> dict[str, Recipe]:
    """Inputs that hold a poison."""
    return {name: recipe for name, recipe in probe.inputs.items() if recipe.get("kind") == "poison"}


def _owed(ctx: JudgeContext, probe: Probe, output: int, wrong: Tensor, finite: Tensor) -> Tensor:
    """Those of the wrong elements that owe the oracle's class: finite ones if they follow from any poison, others from every one.

    Of two infinities the one that an element follows from must not be lost; what both make together it owes only to both.
    """
    poisons = [(name, cell) for name, recipe in _poisoned(probe).items() for cell in recipe["at"]]
    follows = torch.stack([dependent(ctx, probe, name, cell, output, wrong) for name, cell in poisons])
    return wrong & torch.where(finite, follows.any(dim=0), follows.all(dim=0))


def _signs_are_sure(ctx: JudgeContext, probe: Probe) -> bool:
    """Whether the sign of an infinity follows from the inputs.

    It is that of a finite factor. Kernels that rearrange a recurrence store such factors in the dtype of the inputs, and in 16
    bits a factor near zero may come out with either sign.
    """
    return ctx.contract.nonfinite == "exact" or probe.dtype == ctx.plan.dtype


def _near_overflow(truth: Tensor, dtype: str) -> Tensor:
    top = format_of(dtype).max
    return torch.isfinite(truth) & (truth.abs() > 0.9 * top)


def _only_nan(probe: Probe) -> bool:
    """Whether NaN is all that is poisoned: no honest kernel makes an infinity of it."""
    values = [value for recipe in _poisoned(probe).values() for value in recipe["values"]]
    return bool(values) and set(values) == {"nan"}


def _faults(got: Tensor, want: Tensor, poisoned: bool, policy: str, only_nan: bool) -> Iterator[tuple[str, Tensor]]:
    """(code, mask) of each kind of fault, the gravest first."""
    finite, nan = 0, 1
    yield "absorbed", (want != finite) & (got == finite)
    yield "sign", (want > nan) & (got > nan) & (got != want)
    # An infinity where the oracle has NaN hides what happened; a chunkwise kernel may meet one before the NaN arises of it.
    if policy == "exact" or only_nan:
        yield "absorbed", (want == nan) & (got > nan)
    extra = ((want == finite) & (got != finite)) | ((want > nan) & (got == nan))
    if not poisoned:
        yield "minted", extra
    elif policy == "exact":
        yield "spread", extra


GATE = Gate(
    id="EXC-01",
    title="non-finite propagation",
    tolerance_free=True,
    codes=("absorbed", "minted", "spread", "sign", CRASH),
    plan=plan,
    judge=judge,
)
