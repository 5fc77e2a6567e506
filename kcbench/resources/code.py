"""Compiled code as the plan reader sees it: steps, where they lead, and what they do to Tensor Memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

ALLOCATE = "allocate"
FREE = "free"
RELINQUISH = "relinquish"
USE = "use"
BRANCH = "branch"
LEAVE = "leave"
TRAP = "trap"
CALL = "call"
LOST = "lost"
"""Goes on where the code does not say."""
COMPUTE = "compute"

ENDING = frozenset({BRANCH, LEAVE, TRAP, LOST})
"""Kinds of steps after which a block ends."""
OWNING = frozenset({ALLOCATE, FREE, RELINQUISH})
"""Kinds of steps that change who owns columns."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction."""

    line: int
    """Line in the text, from 1."""
    text: str
    """The instruction as it stands there, blanks collapsed."""
    kind: str
    op: str = ""
    """Operation in PTX's words, with its suffixes."""
    results: tuple[str, ...] = ()
    """Registers that are written."""
    operands: tuple[str, ...] = ()
    """What is read: registers, numbers, symbols, ``[address]``. Of an allocation: where the address goes (empty: into the first
    result) and columns; of a free: Tensor Memory address and columns; of a use: Tensor Memory addresses."""
    guard: str = ""
    """Predicate register that decides whether it is executed; empty: always."""
    negated: bool = False
    """Executed where the guard is false."""
    targets: tuple[int, ...] = ()
    """Of a branch: indices of the steps that it may lead to."""
    group: int = 0
    """CTAs of the group that a Tensor Memory step names, 1 or 2; 0 where it names none."""
    source: str = ""
    """``file:line`` of the source that it was compiled from, where the text says so."""


@dataclass
class Function:
    """A kernel, or a function that kernels call."""

    name: str
    line: int
    is_kernel: bool = True
    target: str = ""
    """As it stands in the text, such as ``sm_100a``."""
    steps: list[Step] = field(default_factory=list)
    threads: tuple[int, int, int] | None = None
    """Threads per block in x, y, z; None where the code does not say."""
    threads_exact: bool = False
    """Whether ``threads`` is what is launched (``.reqntid``), not an upper bound (``.maxntid``)."""
    resident: int = 0
    """Blocks per multiprocessor that the code asks for (``.minnctapersm``); 0: none."""
    cluster: tuple[int, ...] = ()
    """Blocks per cluster, where the code fixes them."""
    shared: int = 0
    """Bytes of shared memory that the code declares."""

    def owning(self) -> Iterator[Step]:
        """The steps that allocate, free or relinquish."""
        return (step for step in self.steps if step.kind in OWNING)

    @property
    def touches_tensor_memory(self) -> bool:
        return any(step.kind in OWNING or step.kind == USE for step in self.steps)
