"""One compiled kernel and everything that is known of its resources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from kcbench.resources.figures import Figures, figure_problems
from kcbench.resources.limits import COLUMNS_MOST, Limits, residents
from kcbench.resources.plan import Plan
from kcbench.resources.problem import Problem


@dataclass(frozen=True)
class Tile:
    """A tile that a compiler planned to keep in Tensor Memory."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    columns: int
    source: str = ""
    """``file:line``."""


@dataclass
class Kernel:
    """A kernel as it was read."""

    name: str
    target: str
    """What it was compiled for, without the letter of a variant; empty where that is not said."""
    where: str
    """The file."""
    figures: Figures
    plan: Plan | None = None
    tiles: list[Tile] = field(default_factory=list)
    residents: int = 0
    """Blocks per multiprocessor that the code asks for; 0: it does not."""
    notes: list[str] = field(default_factory=list)

    @property
    def tiled(self) -> int:
        """Columns that the tiles would take if all were live at once; those of 64 rows lie in pairs, each on half the lanes."""
        return int(sum(tile.columns * min(tile.shape[-2], 128) / 128 for tile in self.tiles if len(tile.shape) > 1))

    @property
    def columns(self) -> int:
        """Tensor Memory columns per block: what the compiler states or what its code owns at once, whichever is more."""
        return max(self.figures.columns, self.plan.columns if self.plan else 0)


@dataclass
class Budget:
    """A kernel held against a target."""

    kernel: Kernel
    target: str
    problems: list[Problem]
    residents: dict[str, int]
    """Blocks that one multiprocessor could hold, by what bounds it."""
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """For ``kcbench resources --json``."""
        kernel, plan = self.kernel, self.kernel.plan
        return {
            "kernel": kernel.name,
            "file": kernel.where,
            "compiled_for": kernel.target,
            "target": self.target,
            "fits": not self.problems,
            "figures": asdict(kernel.figures),
            "tensor_memory": None
            if plan is None
            else {
                "columns": plan.columns,
                "group": plan.group,
                "allocations": [asdict(item) for item in plan.allocations],
                "live_at_peak": [asdict(item) for item in plan.peak],
                "freed_at": plan.frees,
                "relinquished_at": plan.relinquishes,
            },
            "tiles": [asdict(item) for item in kernel.tiles],
            "residents": self.residents,
            "problems": [asdict(item) for item in self.problems],
            "notes": self.notes,
        }


def hold(kernel: Kernel, target: str, limits: Limits, *, wanted: int = 0) -> Budget:
    """Hold a kernel against a target.

    Args:
        kernel: What was read.
        target: Its name.
        limits: What it offers.
        wanted: Blocks per multiprocessor that must be able to own their columns at once; 0: what the code asks for.
    """
    fit = residents(limits, threads=kernel.figures.threads, registers=kernel.figures.registers, shared=kernel.figures.shared)
    notes = [*kernel.notes, *(kernel.plan.notes if kernel.plan else ())]
    problems = list(_problems(kernel, limits))
    columns = kernel.columns
    if columns and limits.tensor_memory:
        fit["tensor memory"] = limits.tensor_memory // columns
        asked = wanted or kernel.residents
        if asked > 1 and columns * asked > COLUMNS_MOST >= columns:
            text = f"{asked} blocks a multiprocessor are asked for, and {asked} times {columns} columns exceed {COLUMNS_MOST}"
            problems.append(Problem("tmem", "over-residents", text, got=asked * columns, expected=COLUMNS_MOST))
        others = min(count for name, count in fit.items() if name != "tensor memory")
        if fit["tensor memory"] < others and columns <= COLUMNS_MOST and "registers" in fit:
            notes.append(
                f"{others} blocks fit on a multiprocessor, but Tensor Memory holds the columns of {fit['tensor memory']}: "
                "the others wait with their allocation"
            )
    return Budget(kernel, target, problems, fit, notes)


def _problems(kernel: Kernel, limits: Limits) -> Iterator[Problem]:
    planned = list(kernel.plan.problems) if kernel.plan else []
    for problem in figure_problems(kernel.figures, limits):
        # What the code shows explains more than the compiler's number.
        if problem.code == "tmem" and limits.tensor_memory and any(item.kind.startswith("over") for item in planned):
            continue
        yield problem
    if kernel.plan and not limits.tensor_memory:
        if not kernel.figures.columns:
            yield Problem("tmem", "over", "Tensor Memory is used, and the target has none", got=kernel.plan.columns, expected=0)
        return
    if kernel.figures.cluster > limits.cluster:
        text = f"{kernel.figures.cluster} blocks a cluster exceed {limits.cluster}"
        yield Problem("cluster", "cluster", text, got=kernel.figures.cluster, expected=limits.cluster)
    yield from planned
