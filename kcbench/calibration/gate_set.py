"""Gate set: which gates the detection rests on, and how few of them would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcbench.calibration.rows import REFUSED, Broken
from kcbench.report.proportion import Proportion

KEPT = 0.99
"""Share of the detected faults that a smaller set of gates has to keep."""


@dataclass(frozen=True)
class GateUse:
    """What one gate adds."""

    gate: str
    refused: int
    """Faults that it refuses."""
    alone: int
    """Those of them that no other gate refuses; a gate with none is redundant on these faults."""


@dataclass(frozen=True)
class GateSet:
    """Gates in the order in which a greedy search takes them: each is the one that refuses most of what is left."""

    gates: tuple[str, ...]
    found: tuple[int, ...]
    """How many more faults each of them refuses."""
    faults: int
    """How many faults all gates together refuse."""

    def kept(self, broken: Sequence[Broken]) -> Proportion:
        """The share of the detected faults that this set detects too."""
        return Proportion.of(bool(set(self.gates) & set(mutant.gates)) for mutant in broken if mutant.status == REFUSED)


def gate_uses(broken: Sequence[Broken]) -> tuple[GateUse, ...]:
    """What each gate adds, sorted by gate; only gates that refuse something."""
    found = [set(mutant.gates) for mutant in broken if mutant.status == REFUSED]
    return tuple(
        GateUse(gate, sum(gate in gates for gates in found), sum(gates == {gate} for gates in found))
        for gate in sorted(set().union(*found))
    )


def cheapest(broken: Sequence[Broken], *, kept: float = KEPT) -> GateSet:
    """A small set of gates that refuses at least a share ``kept`` of the faults that all gates refuse.

    Found greedily, with every gate at the same cost: for all n faults, at most 1 + ln(n) times as large as the smallest such set
    (V. Chvatal, Math. Oper. Res. 4 (1979)). Where two gates add the same, the first by name is taken.
    """
    left = [set(mutant.gates) for mutant in broken if mutant.status == REFUSED]
    faults, gates, found = len(left), list[str](), list[int]()
    while sum(found) < kept * faults:
        names = sorted(set().union(*left))
        gate = max(names, key=lambda name: sum(name in item for item in left))
        rest = [item for item in left if gate not in item]
        gates.append(gate)
        found.append(len(left) - len(rest))
        left = rest
    return GateSet(tuple(gates), tuple(found), faults)
