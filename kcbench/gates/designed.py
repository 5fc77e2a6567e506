"""Probes that a contract designed for one fault: their truth is exact in the output dtype."""

from __future__ import annotations

from kcbench.domain.contract import Designed
from kcbench.domain.probe import Probe
from kcbench.gates.base import PlanContext


def designed(ctx: PlanContext, kind: str) -> list[Designed]:
    """The contract's designed probes of a kind that can be run: those that set parameters need redrawn parameters."""
    return [item for item in ctx.contract.designed if item.kind == kind and (ctx.redraw or not ctx.contract.parameters)]


def designed_probes(ctx: PlanContext, kind: str, *, stream: str, dtypes: tuple[str, ...] | None = None) -> list[Probe]:
    """The designed probes of a kind, at the contract's first dtype unless ``dtypes`` names others."""
    probes = []
    for index, item in enumerate(designed(ctx, kind)):
        allowed = item.dtypes or ctx.contract.dtypes
        for dtype in dtypes or (ctx.dtype,):
            if dtype in allowed:
                label = f"{kind} {index + 1}, {dtype}"
                probes.append(
                    ctx.probe(
                        label,
                        dtype=dtype,
                        axes=item.axes,
                        inputs=item.inputs,
                        parameters=item.parameters,
                        stream=f"{stream}/{index}",
                    )
                )
    return probes
