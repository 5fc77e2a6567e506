"""Sizes at which tasks are tried."""

from __future__ import annotations

import math

from kcbench.domain.contract import Contract
from kcbench.gates import PlanContext, cmp03


def planned_sizes(contract: Contract) -> list[dict[str, int]]:
    """Every combination of sizes at which kernels are asked, without empty ones, from small to large."""
    found = {tuple(probe.axes.items()): dict(probe.axes) for probe in cmp03.GATE.plan(PlanContext(contract))}
    found.setdefault(tuple(contract.sizes().items()), contract.sizes())
    return sorted((sizes for sizes in found.values() if all(sizes.values())), key=lambda sizes: elements(contract, sizes))


def least_sizes(contract: Contract) -> dict[str, int]:
    """The smallest of them."""
    return planned_sizes(contract)[0]


def elements(contract: Contract, sizes: dict[str, int]) -> int:
    """Of all inputs together."""
    return sum(math.prod(contract.shape(item, sizes)) for item in contract.inputs)
