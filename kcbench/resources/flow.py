"""Follows one warp through a function, along every way that it may take, and watches the Tensor Memory that it owns.

Nothing is run. Numbers that the code fixes are computed, the warp's own thread index among them: ``if (threadIdx.x < 32)`` is
decided. A condition that is not known is taken both ways, and the same condition later the same way. Registers that have no say
in allocations are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcbench.resources import code
from kcbench.resources.code import Function, Step
from kcbench.resources.graph import Graph
from kcbench.resources.owned import Followed, Owned, Way
from kcbench.resources.walk import Known, Scene, State, Walk

MOST_STEPS = 50_000
"""Steps taken by one warp after which a function counts as too intricate."""
MOST_STEPS_TOGETHER = 250_000
"""The same, by all warps that are followed."""
MOST_ALIKE = 8
"""Ways of being at a block with the same columns that are kept apart. Of more, as a loop that counts makes them, only what they
have in common is kept: otherwise each pass would be followed for itself."""
MOST_BLOCKS = 4000
"""Blocks of a function that is looked into; deciding which branches matter takes time that grows with their square."""


class Follower:
    """Follows warps through one function.

    Args:
        function: Its steps.
        owning: Names of the other functions that allocate or free.
    """

    def __init__(self, function: Function, owning: frozenset[str] = frozenset()) -> None:
        self._steps = function.steps
        graph = Graph(function)
        self.follows = len(graph.blocks) <= MOST_BLOCKS
        """Whether the function is small enough to be followed."""
        deciding = graph.deciding() if self.follows else set()
        relevant = self._slice(deciding)
        self.depends_on_thread = any(
            operand.startswith(("%tid", "%warpid")) for index in relevant for operand in self._steps[index].operands
        )
        """Whether warps may differ in what they do."""
        kept = [[index for index in range(block.first, block.end) if index in relevant] for block in graph.blocks]
        registers = frozenset(name for step in self._steps for name in step.results)
        self._scene = Scene(graph, deciding, kept, owning, registers)
        self._taken = 0

    def _slice(self, deciding: set[int]) -> set[int]:
        """The steps that have a say in allocations, and the uses of their addresses."""
        wanted: set[str] = set()
        kept: set[int] = set()
        for index, step in enumerate(self._steps):
            if step.kind in code.OWNING or step.kind == code.USE or index in deciding or step.kind == code.CALL:
                kept.add(index)
                wanted.update(_names(step))
                if step.kind == code.ALLOCATE:
                    wanted.update(step.results)
        writers: dict[str, list[int]] = {}
        for index, step in enumerate(self._steps):
            for name in step.results:
                writers.setdefault(name, []).append(index)
        stores: dict[str, list[int]] = {}
        for index, step in enumerate(self._steps):
            if step.op.startswith("st.shared") and len(step.operands) > 1:
                stores.setdefault(step.operands[1], []).append(index)
        stack = list(wanted)
        while stack:
            name = stack.pop()
            for index in (*writers.get(name, ()), *stores.get(name, ())):
                if index in kept:
                    continue
                kept.add(index)
                fresh = _names(self._steps[index]) - wanted
                wanted |= fresh
                stack.extend(fresh)
        return kept

    def follow(self, special: Mapping[str, int]) -> Followed:
        """Everything that a warp may do.

        Args:
            special: Special registers of its first thread by name, such as ``%tid.x``, as far as they are known.
        """
        found = Followed()
        if not self.follows:
            found.doubts["the function has too many branches to be followed"] = 0
            return found
        if not self._steps:
            return found
        start = State(Owned(), frozenset())
        reached: dict[int, dict[State, tuple[Known, Way]]] = {0: {start: ({}, Way())}}
        alike: dict[tuple[int, Owned], list[State]] = {(0, Owned()): [start]}
        waiting: dict[tuple[int, State], None] = {(0, start): None}
        left = min(MOST_STEPS, MOST_STEPS_TOGETHER - self._taken)
        while waiting and not found.piles_up:
            block, state = next(iter(waiting))
            del waiting[block, state]
            # Entering a block takes as long as some steps.
            cost = 10 + len(self._scene.kept[block]) + len(state.conditions)
            left -= cost
            self._taken += cost
            if left < 0:
                found.doubts["the function is too intricate to be followed to the end"] = self._scene.graph.blocks[block].first
                break
            known, way = reached[block][state]
            walk = Walk(self._scene, special, found, state, dict(known), way)
            for after, next_state, next_known, next_way in walk.run(block):
                states = reached.setdefault(after, {})
                if next_state not in states:
                    same = alike.setdefault((after, next_state.owned), [])
                    if len(same) >= MOST_ALIKE:
                        next_state = State(
                            next_state.owned, next_state.conditions.intersection(*(item.conditions for item in same))
                        )
                        next_known = _common([next_known, *(states[item][0] for item in same)])
                if next_state not in states:
                    same.append(next_state)
                    states[next_state] = (next_known, next_way)
                    waiting[after, next_state] = None
                    continue
                merged, first_way = states[next_state]
                fewer = _common([merged, next_known])
                if len(fewer) != len(merged):
                    states[next_state] = (fewer, first_way)
                    waiting[after, next_state] = None
        return found


def _common(ways: Sequence[Known]) -> Known:
    """What is known however a place is reached."""
    first, *others = ways
    return {name: value for name, value in first.items() if value is not None and all(way.get(name) == value for way in others)}


def _names(step: Step) -> set[str]:
    names = {step.guard} if step.guard else set()
    for operand in step.operands:
        names.update(item for item in _parts(operand) if item)
    return names


def _parts(operand: str) -> list[str]:
    return operand.strip("[]{}! ").replace("+", " ").replace(",", " ").replace("|", " ").split()
