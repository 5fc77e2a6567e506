"""CMP-03, shape polymorphism: CMP-01 holds over the whole shape class of the contract.

Sizes around the usual tiles, primes, one, zero where the class has it, one more than the benchmarked size, and every memory
layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kcbench.domain.contract import Axis
from kcbench.domain.probe import Probe, World
from kcbench.domain.verdict import Finding, Verdict
from kcbench.gates.base import Gate, JudgeContext, PlanContext, float_inputs
from kcbench.gates.compare import CRASH, FAILED, Check, conclude
from kcbench.gates.sizes import budget, class_sizes, elements, least_sizes, stretched, tuned, varying_axes, whole_tiles
from kcbench.gates.value import check_value

EDGES = (129, 127, 33, 32, 31, 2, 1)
"""The neighbourhood of the common tile edges, two and one; falling, so that a workspace kept from a larger call shows."""
LAYOUTS = ("transposed", "strided", "offset")
IMAGE_RANKS = (4, 5)
"""Inputs with as many dimensions are also laid out with the channels last, a memory format of torch's."""


def plan(ctx: PlanContext) -> list[Probe]:
    """Each varying axis through its edges and around the benchmarked size; all whole tiles; all at their least; layouts."""
    contract = ctx.contract
    varying = varying_axes(contract)
    least = least_sizes(contract)
    probes = [probe for name, axis in varying.items() for probe in _edges(ctx, name, axis)]
    whole = whole_tiles(ctx)
    if whole:
        probes.append(_sized(ctx, whole, label=f"whole tiles of {max(whole.values())}"))
    if len(least) > 1:
        probes.append(_sized(ctx, least, label="all axes at their least"))
    for name in varying:
        probes += [_sized(ctx, sizes) for sizes in tuned(ctx, name)]
    # What a narrow result is stored as may depend on a path of its own for the smallest sizes.
    for name, size in least.items():
        probes += [_sized(ctx, {name: size}, dtype=dtype) for dtype in ctx.dtypes[1:] if size != varying[name].gate]
    legacy = {name: size for name, size in contract.legacy_sizes().items() if name in varying}
    full = {name: size for name, size in ctx.full_sizes.items() if name in varying and varying[name].admits(size)}
    for label, sizes in (("legacy sizes", legacy), ("benchmarked sizes", full)):
        if sizes and elements(ctx, sizes) <= budget(ctx):
            probes.append(_sized(ctx, sizes, label=label))
    names = [name for name in float_inputs(contract) if contract.input(name).shape]
    images = [name for name in names if len(contract.input(name).shape) in IMAGE_RANKS]
    if images:
        world = World(layouts=dict.fromkeys(images, "channels_last"))
        probes.append(ctx.probe(f"channels_last inputs, {ctx.dtype}", world=world, stream="cmp03/channels_last"))
    for layout, dtype in [*((layout, ctx.dtype) for layout in LAYOUTS), *(("strided", dtype) for dtype in ctx.dtypes[1:])]:
        world = World(layouts=dict.fromkeys(names, layout))
        probes.append(ctx.probe(f"{layout} inputs, {dtype}", dtype=dtype, world=world, stream=f"cmp03/{layout}"))
    return list({probe.id: probe for probe in probes}.values())


def _edges(ctx: PlanContext, name: str, axis: Axis) -> Iterator[Probe]:
    """One axis through its edge sizes."""
    for size in [size for size in class_sizes(axis, EDGES) if size != axis.gate] + ([0] if axis.minimum == 0 else []):
        sizes = stretched(ctx, name, size)
        if sizes:
            yield _sized(ctx, sizes)


def _sized(ctx: PlanContext, sizes: Mapping[str, int], label: str = "", dtype: str | None = None) -> Probe:
    label = label or ", ".join([*(f"{name}={size}" for name, size in sizes.items()), *([dtype] if dtype else [])])
    return ctx.probe(label, axes=sizes, dtype=dtype, stream=f"cmp03/{label}")


def judge(ctx: JudgeContext, probes: Sequence[Probe]) -> Verdict:
    """Values within the bound everywhere in the class; one finding per kind of failure."""
    checks = [check_value(ctx, probe) for probe in probes]
    findings: dict[str, Finding] = {}
    for check in checks:
        if check.status == FAILED:
            code = _code(ctx, check)
            findings.setdefault(code, check.finding(code))
    return conclude("CMP-03", list(findings.values()), checks, nothing="the contract has one shape only")


def _code(ctx: JudgeContext, check: Check) -> str:
    probe = check.probe
    if check.crashed and _never_answers(ctx):
        return CRASH
    if probe.world.layouts:
        return "stride"
    if any(size == 0 for size in probe.axes.values()):
        return "empty"
    if check.crashed:
        return CRASH
    gate = ctx.contract.sizes()
    changed = {name: size for name, size in probe.axes.items() if size != gate[name]}
    return "batch" if changed == {next(iter(gate)): 1} else "shape"


def _never_answers(ctx: JudgeContext) -> bool:
    """Whether no call on ordinary inputs came back either: no layout and no emptiness is to blame then."""
    ordinary = (probe for probe in ctx.probes.values() if not probe.world.layouts and 0 not in probe.axes.values())
    return not any(ctx.seen(probe).ok for probe in ordinary)


GATE = Gate(
    id="CMP-03",
    title="shape polymorphism",
    tolerance_free=False,
    codes=("shape", "stride", "batch", "empty", CRASH),
    plan=plan,
    judge=judge,
)
