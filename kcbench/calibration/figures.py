"""Figures: what a study of honest and broken kernels says of the gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from kcbench.calibration.comparison import Comparison, comparisons
from kcbench.calibration.gate_set import GateSet, GateUse, cheapest, gate_uses
from kcbench.calibration.rows import ERROR, FAILED, REFUSED, Broken, Honest
from kcbench.calibration.split import held_out
from kcbench.calibration.spread import Spread, spreads
from kcbench.report.proportion import Proportion

ALL = "all"
"""Stands for all fault classes together."""


@dataclass(frozen=True)
class Detection:
    """How many of the witnessed faults of a class are refused."""

    fault: str
    """Fault class, or :data:`ALL`."""
    whole: Proportion
    in_sample: Proportion
    """On the half of the tasks that constants may be fitted on."""
    held_out: Proportion
    by_gate: Mapping[str, int]
    """How many each gate refuses."""


@dataclass(frozen=True)
class Half:
    """One half of a split."""

    name: str
    members: tuple[str, ...]
    """Tasks or fault classes."""
    detection: Proportion
    alarms: Proportion
    """Of honest kernels; nothing is counted where the split is one of fault classes."""
    worst: float | None
    """Largest ratio of an honest kernel in any gate."""


@dataclass(frozen=True)
class Figures:
    """Everything that is told of a study."""

    honest: int
    """Proven honest kernels that were judged."""
    unproven: int
    """Left out: variants that were not shown to be honest."""
    broken: int
    """Witnessed faults that were judged."""
    failed: int
    """Left out: kernels on which kcbench itself failed."""
    alarms: Proportion
    refused: tuple[str, ...]
    """Proven honest kernels that are refused."""
    spreads: tuple[Spread, ...]
    detections: tuple[Detection, ...]
    """By fault class in alphabetical order, :data:`ALL` last."""
    halves: tuple[Half, ...]
    """Tasks in sample and held out, then fault classes in sample and held out."""
    uses: tuple[GateUse, ...]
    cheapest: GateSet
    cheapest_held_out: Proportion
    """What a set that was chosen on the one half of the tasks keeps on the other."""
    comparisons: tuple[Comparison, ...]


def measure(honest: Sequence[Honest], broken: Sequence[Broken]) -> Figures:
    """The figures of a study."""
    fair = [kernel for kernel in honest if kernel.judged]
    faulty = [mutant for mutant in broken if mutant.witnessed]
    away = held_out_tasks(honest, broken)
    seen, unseen = ([mutant for mutant in faulty if (mutant.task in away) is side] for side in (False, True))
    return Figures(
        honest=len(fair),
        unproven=sum(not kernel.proven for kernel in honest),
        broken=len(faulty),
        failed=sum(kernel.state == ERROR for kernel in honest) + sum(mutant.status == FAILED for mutant in broken),
        alarms=_alarms(fair),
        refused=tuple(kernel.id for kernel in fair if kernel.state == REFUSED),
        spreads=spreads(fair, faulty),
        detections=_detections(faulty, away),
        halves=_halves(fair, faulty, away),
        uses=gate_uses(faulty),
        cheapest=cheapest(faulty),
        cheapest_held_out=cheapest(seen).kept(unseen),
        comparisons=comparisons(fair, faulty),
    )


def held_out_tasks(honest: Sequence[Honest], broken: Sequence[Broken]) -> frozenset[str]:
    """The tasks of a study that constants are not fitted on."""
    return held_out([*(kernel.task for kernel in honest), *(mutant.task for mutant in broken)])


def _alarms(honest: Sequence[Honest]) -> Proportion:
    return Proportion.of(kernel.state == REFUSED for kernel in honest)


def _detected(broken: Sequence[Broken]) -> Proportion:
    return Proportion.of(mutant.status == REFUSED for mutant in broken)


def _detections(broken: Sequence[Broken], away: Collection[str]) -> tuple[Detection, ...]:
    def row(name: str, mine: Sequence[Broken]) -> Detection:
        return Detection(
            name,
            whole=_detected(mine),
            in_sample=_detected([mutant for mutant in mine if mutant.task not in away]),
            held_out=_detected([mutant for mutant in mine if mutant.task in away]),
            by_gate=Counter(gate for mutant in mine if mutant.status == REFUSED for gate in mutant.gates),
        )

    faults = sorted({mutant.fault for mutant in broken})
    return (*(row(fault, [mutant for mutant in broken if mutant.fault == fault]) for fault in faults), row(ALL, broken))


def _halves(honest: Sequence[Honest], broken: Sequence[Broken], away: Collection[str]) -> tuple[Half, ...]:
    tasks = {*(kernel.task for kernel in honest), *(mutant.task for mutant in broken)}
    faults = {mutant.fault for mutant in broken}
    return (
        *_both("tasks", tasks, away, honest, broken, lambda mutant: mutant.task),
        *_both("fault classes", faults, held_out(faults), (), broken, lambda mutant: mutant.fault),
    )


def _both(
    what: str,
    names: Collection[str],
    away: Collection[str],
    honest: Sequence[Honest],
    broken: Sequence[Broken],
    of: Callable[[Broken], str],
) -> list[Half]:
    halves = []
    for label, members in (("in sample", set(names) - set(away)), ("held out", set(names) & set(away))):
        fair = [kernel for kernel in honest if kernel.task in members]
        ratios = [ratio for kernel in fair for by_dtype in kernel.ratios.values() for ratio in by_dtype.values()]
        detection = _detected([mutant for mutant in broken if of(mutant) in members])
        halves.append(Half(f"{what}, {label}", tuple(sorted(members)), detection, _alarms(fair), max(ratios, default=None)))
    return halves
