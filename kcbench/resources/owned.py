"""What following a warp finds: what it owns of Tensor Memory where, how it got there, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kcbench.resources.values import Value

_TRAIL = 3
"""Decisions kept of the way to a place, the last ones."""

Allocation = tuple[int, int]
"""The step that allocates (its index), and which of its allocations that are live at a time this is."""


@dataclass(frozen=True, slots=True)
class Live:
    """Columns that are owned."""

    id: Allocation
    columns: int
    """0 where the code does not fix them."""


@dataclass(frozen=True, slots=True)
class Owned:
    """What a warp has to do with Tensor Memory at a place."""

    live: tuple[Live, ...] = ()
    freed: frozenset[Allocation] = frozenset()
    """Allocations that were freed and not made again."""
    relinquished: int = -1
    """The step that relinquished the right to allocate; -1: none."""
    foreign: tuple[tuple[int, int], ...] = ()
    """Freed without being this warp's: the step that allocates (-1: not known), and columns."""

    @property
    def columns(self) -> int:
        return sum(item.columns for item in self.live)


@dataclass(frozen=True, slots=True)
class Way:
    """The decisions that led to a place, the last of them."""

    decisions: tuple[tuple[int, bool], ...] = ()
    """Step and whether its condition held."""

    def then(self, index: int, held: bool) -> Way:
        others = tuple(item for item in self.decisions if item[0] != index)
        return Way((*others, (index, held))[-_TRAIL:])


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that hardware would punish."""

    kind: str
    """``over``, ``size``, ``after-relinquish``, ``twice``, ``use-after-free``, ``columns-differ``."""
    index: int
    """The step at fault."""
    owned: Owned
    way: Way
    other: int = -1
    """A step that has to do with it: what was freed, relinquished or allocated where."""
    columns: int = 0
    """Of an allocation: how many are asked for."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the warp may leave the function."""

    index: int
    """The step that leaves; the number of steps where the end is run over."""
    owned: Owned
    way: Way
    conditions: frozenset[tuple[Value, bool]]


@dataclass
class Followed:
    """What was seen of one warp."""

    ended: dict[tuple[object, ...], Ending] = field(default_factory=dict)
    """How it may leave, by what tells one from another."""
    faults: dict[tuple[str, int], Fault] = field(default_factory=dict)
    peak: tuple[Live, ...] = ()
    """The allocations live when the most columns were."""
    allocates: dict[int, int] = field(default_factory=dict)
    """Steps that allocate, of those that were reached, and how many columns; 0 where the code does not fix them."""
    piles_up: bool = False
    """Whether a loop allocates until nothing is left. Then it is followed no further: the rest would say nothing new."""
    calls: bool = False
    """Whether it calls a function that allocates or frees; what it owns at the end is not known then."""
    doubts: dict[str, int] = field(default_factory=dict)
    """What could not be decided, and at which step."""

    @property
    def endings(self) -> Iterable[Ending]:
        return self.ended.values()
