"""The Tensor Memory plan of a kernel: what is allocated where, how much at once, and what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from kcbench.resources import code
from kcbench.resources.code import Function, Step
from kcbench.resources.flow import Follower
from kcbench.resources.limits import COLUMNS_MOST
from kcbench.resources.owned import Ending, Fault, Followed, Live, Owned, Way
from kcbench.resources.problem import Problem

MOST_WARPS = 32
MOST_LEAKS = 3
"""Ways out with columns that are not freed, of those that are explained."""


@dataclass(frozen=True)
class Allocation:
    """One place in the code that allocates."""

    line: int
    columns: int
    """0 where the code does not fix them."""
    text: str
    source: str = ""


@dataclass
class Plan:
    """What a kernel does with Tensor Memory."""

    allocations: list[Allocation] = field(default_factory=list)
    columns: int = 0
    """Most columns that one block owns at once, over all ways through the code."""
    peak: list[Allocation] = field(default_factory=list)
    """The allocations that are live then."""
    frees: list[int] = field(default_factory=list)
    """Lines."""
    relinquishes: list[int] = field(default_factory=list)
    """Lines."""
    group: int = 0
    """CTAs of a group (``.cta_group``); 0 where nothing names one."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be decided, and what is legal and worth knowing."""


def read_plan(function: Function, others: Sequence[Function] = (), *, threads: int = 0) -> Plan | None:
    """The plan of one function; None where it has nothing to do with Tensor Memory.

    Args:
        function: Usually a kernel.
        others: Functions that it may call.
        threads: Threads per block, for code that does not say.
    """
    if not function.touches_tensor_memory:
        return None
    return _Reader(function, others, threads).read()


class _Reader:
    def __init__(self, function: Function, others: Sequence[Function], threads: int) -> None:
        self._steps = function.steps
        self._owning = list(function.owning())
        names = frozenset(item.name for item in others if item is not function and any(item.owning()))
        self._follower = Follower(function, names)
        self._shape = function.threads or ((threads, 1, 1) if threads else None)
        self._exact = (bool(threads) and function.threads is None) or (function.threads is not None and function.threads_exact)
        self._plan = Plan()
        self._columns: dict[int, int] = {}

    def read(self) -> Plan:
        plan = self._plan
        plan.frees = [step.line for step in self._owning if step.kind == code.FREE]
        plan.relinquishes = [step.line for step in self._owning if step.kind == code.RELINQUISH]
        self._groups()
        warps = self._follow()
        self._allocations(warps)
        self._faults(warps)
        self._peak(warps)
        self._endings(warps)
        for text, index in dict.fromkeys(doubt for warp in warps for doubt in warp.doubts.items()):
            plan.notes.append(f"line {self._line(index)}: {text}")
        if plan.allocations and not plan.relinquishes and not plan.problems:
            plan.notes.append(
                "the right to allocate is never relinquished: "
                "another block on the same multiprocessor waits with its allocation until this one ends"
            )
        if not plan.allocations and not plan.problems:
            plan.notes.append("Tensor Memory is used but not allocated here")
        return plan

    def _follow(self) -> list[Followed]:
        """Each warp of a block; one for all where nothing depends on the thread."""
        size = self._shape[0] * self._shape[1] * self._shape[2] if self._shape else 32 * MOST_WARPS
        count = min(max(-(-size // 32), 1), MOST_WARPS) if self._follower.depends_on_thread else 1
        found = [self._follower.follow(self._special(warp)) for warp in range(count)]
        for warp, followed in enumerate(found):
            # Now that is known where the others leave the addresses of what they allocate.
            if any(index < 0 for ending in followed.endings for index, _ in ending.owned.foreign):
                found[warp] = self._follower.follow(self._special(warp))
        return found

    def _special(self, warp: int) -> dict[str, int]:
        thread = 32 * warp
        known = {"%laneid": 0, "%warpid": warp, "WARP_SZ": 32}
        if self._shape is None:
            # Nearly every kernel that allocates counts its threads along x.
            return {**known, "%tid.x": thread}
        x, y, _ = (max(size, 1) for size in self._shape)
        known |= {"%tid.x": thread % x, "%tid.y": thread // x % y, "%tid.z": thread // (x * y)}
        if self._exact:
            known |= {f"%ntid.{axis}": size for axis, size in zip("xyz", self._shape, strict=True)}
        return known

    def _line(self, index: int) -> int:
        return self._steps[min(index, len(self._steps) - 1)].line if self._steps else 0

    def _where(self, index: int) -> str:
        if index >= len(self._steps):
            return "the end of the function"
        step = self._steps[index]
        return f"line {step.line}" + (f" (from {PurePosixPath(step.source).name})" if step.source else "")

    def _problem(self, code_: str, kind: str, text: str, index: int = 0, got: int = 0, expected: int = 0) -> None:
        self._plan.problems.append(Problem(code_, kind, text, self._line(index), got, expected))

    def _groups(self) -> None:
        """One value of ``.cta_group`` per kernel (PTX ISA)."""
        named: dict[int, Step] = {}
        for step in self._steps:
            if step.group:
                named.setdefault(step.group, step)
        self._plan.group = next(iter(named), 0)
        if len(named) > 1:
            one, two = (f"line {step.line}: {step.text}" for step in list(named.values())[:2])
            index = self._steps.index(list(named.values())[1])
            self._problem("tmem", "groups", f"cta_group::1 and cta_group::2 are mixed in one kernel: {one}; {two}", index)

    def _allocations(self, warps: Sequence[Followed]) -> None:
        for warp in warps:
            self._columns.update(warp.allocates)
            self._columns.update({fault.index: fault.columns for fault in warp.faults.values() if fault.columns})
        self._plan.allocations = [
            self._allocation(index)
            for index, step in enumerate(self._steps)
            if step.kind == code.ALLOCATE and (index in self._columns or not self._follower.follows)
        ]

    def _allocation(self, index: int) -> Allocation:
        step = self._steps[index]
        return Allocation(step.line, self._columns.get(index, 0), step.text, step.source)

    def _faults(self, warps: Sequence[Followed]) -> None:
        seen = set()
        for warp in warps:
            for fault in warp.faults.values():
                if (fault.kind, fault.index) not in seen:
                    seen.add((fault.kind, fault.index))
                    self._explain(fault)

    def _explain(self, fault: Fault) -> None:
        step, here = self._steps[fault.index], self._where(fault.index)
        way = self._way(fault.way)
        if fault.kind == "over":
            wanted, live = fault.columns, fault.owned.columns
            text = f"{here} allocates {_text(wanted)} while {live} are live ({self._live(fault.owned)}): "
            text += f"{live + wanted} of {COLUMNS_MOST}"
            if fault.index in {item.id[0] for item in fault.owned.live}:
                text += "; it is executed again before what it allocated is freed"
            self._problem("tmem", "over", text + way, fault.index, live + wanted, COLUMNS_MOST)
        elif fault.kind == "size":
            text = f"{here} allocates {fault.columns} columns, which is no power of two from 32 to {COLUMNS_MOST}: {step.text}"
            expected = COLUMNS_MOST if fault.columns > COLUMNS_MOST else 32
            self._problem("tmem", "size", text, fault.index, fault.columns, expected)
        elif fault.kind == "after-relinquish":
            text = f"{here} allocates after {self._where(fault.other)} has relinquished the right to{way}"
            self._problem("tmem", "after-relinquish", text, fault.index)
        elif fault.kind == "twice":
            text = f"{here} frees what {self._where(fault.other)} allocated a second time{way}"
            self._problem("tmem", "twice", text, fault.index)
        elif fault.kind == "columns-differ":
            text = f"{here} frees another number of columns than {self._where(fault.other)} allocated: {step.text}"
            self._problem("tmem", "columns-differ", text, fault.index)
        elif fault.kind == "use-after-free":
            text = f"{here} uses columns after they were freed (allocated at {self._where(fault.other)}){way}: {step.text}"
            self._problem("tmem", "use-after-free", text, fault.index)

    def _live(self, owned: Owned) -> str:
        """What is live, equal allocations together."""
        counted = Counter((item.id[0], item.columns) for item in owned.live)
        return ", ".join(
            f"{times} times {_text(columns)} from {self._where(index)}"
            if times > 1
            else f"{_text(columns)} from {self._where(index)}"
            for (index, columns), times in counted.items()
        )

    def _way(self, way: Way) -> str:
        """The decisions on the way, as a clause."""
        if not way.decisions:
            return ""
        parts = []
        for index, held in way.decisions:
            step = self._steps[index]
            done = "taken" if step.kind in (code.BRANCH, code.LEAVE) else "executed"
            parts.append(f"line {step.line} ({step.text}) is {'' if held else 'not '}{done}")
        return f", where {' and '.join(parts)}"

    def _peak(self, warps: Sequence[Followed]) -> None:
        """The most columns at once, over the warps of a block."""
        plan = self._plan
        owners = [warp for warp in warps if warp.allocates]
        if not owners:
            return
        largest = max(owners, key=lambda warp: sum(item.columns for item in warp.peak))
        peak = sum(item.columns for item in largest.peak)
        plan.peak = [self._allocation(item.id[0]) for item in largest.peak]
        total = self._total(owners, len(warps))
        if self._shape is None or not self._exact:
            plan.columns = peak
            if total > peak:
                plan.notes.append("several warps may allocate; how many there are is not fixed in the code, so one is counted")
            return
        plan.columns = total
        if total > COLUMNS_MOST >= peak:
            count = total // peak if peak and total % peak == 0 else 0
            index = largest.peak[0].id[0]
            who = f"each of {count} warps allocates" if count > 1 else "several warps allocate"
            text = f"{who} ({self._where(index)}: {self._steps[index].text}): {total} columns of {COLUMNS_MOST}"
            self._problem("tmem", "over-warps", text, index, total, COLUMNS_MOST)

    def _total(self, owners: Sequence[Followed], looked_at: int) -> int:
        total = sum(sum(item.columns for item in warp.peak) for warp in owners)
        if self._follower.depends_on_thread or looked_at > 1:
            return total
        # One was followed for all.
        size = self._shape[0] * self._shape[1] * self._shape[2] if self._shape else 32 * MOST_WARPS
        return total * max(-(-size // 32), 1)

    def _endings(self, warps: Sequence[Followed]) -> None:
        """What is owned when a warp leaves is leaked, unless another warp frees it."""
        leaks: dict[tuple[int, int], tuple[Live, Ending]] = {}
        for number, warp in enumerate(warps):
            for ending in () if warp.piles_up or warp.calls else warp.endings:
                for live in ending.owned.live:
                    if (live.id[0], ending.index) not in leaks and not self._freed_elsewhere(live, ending, number, warps):
                        leaks.setdefault((live.id[0], ending.index), (live, ending))
        for number, ((index, _), (live, ending)) in enumerate(leaks.items()):
            if number == MOST_LEAKS:
                self._plan.notes.append(f"{len(leaks) - number} more ways lead out with columns that are not freed")
                break
            left = f"where the kernel is left at {self._where(ending.index)}"
            text = f"{_text(live.columns)} that {self._where(index)} allocates are not freed {left}"
            if not self._plan.frees:
                text += "; nothing in it frees any"
            self._problem("tmem-leak", "leak", text + self._way(ending.way), index, live.columns, 0)
        self._strays(warps)

    def _freed_elsewhere(self, live: Live, ending: Ending, number: int, warps: Sequence[Followed]) -> bool:
        for other, warp in enumerate(warps):
            if other == number or not any(_frees(item.owned, live) for item in warp.endings):
                continue
            together = [item for item in warp.endings if _compatible(item, ending)]
            if together and all(_frees(item.owned, live) for item in together):
                return True
        return False

    def _strays(self, warps: Sequence[Followed]) -> None:
        """Columns that a warp frees though no warp has allocated them."""
        made = {item.id[0] for warp in warps for ending in warp.endings for item in ending.owned.live}
        named: dict[int, None] = {}
        for warp in warps:
            for ending in warp.endings:
                for index, columns in ending.owned.foreign:
                    if index < 0 and not self._plan.allocations:
                        self._plan.notes.append(f"{_text(columns)} are freed that are not allocated here")
                    elif index >= 0 and index not in made:
                        named.setdefault(index)
        for index in named:
            self._plan.notes.append(
                f"what {self._where(index)} allocates is freed on a way on which it may not have been allocated"
            )


def _compatible(one: Ending, other: Ending) -> bool:
    known = dict(one.conditions)
    return all(known.get(about, truth) == truth for about, truth in other.conditions)


def _frees(owned: Owned, live: Live) -> bool:
    return any(index == live.id[0] or (index < 0 and columns in (0, live.columns)) for index, columns in owned.foreign)


def _text(columns: int) -> str:
    return f"{columns} columns" if columns else "columns whose number is not fixed"


def plans(functions: Sequence[Function], *, threads: int = 0) -> Iterator[tuple[Function, Plan]]:
    """The kernels among some functions that have to do with Tensor Memory, with their plans."""
    for function in functions:
        if function.is_kernel:
            plan = read_plan(function, functions, threads=threads)
            if plan is not None:
                yield function, plan
