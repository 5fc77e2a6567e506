"""The control flow of a function: blocks of steps, and which branches decide what happens to Tensor Memory."""

from __future__ import annotations

from dataclasses import dataclass

from kcbench.resources import code
from kcbench.resources.code import Function, Step


@dataclass
class Block:
    """Steps that are executed one after the other."""

    first: int
    end: int
    """Index after the last step."""
    after: tuple[int, ...] = ()
    """Blocks that may follow; the graph's ``out`` is the way out of the function."""


class Graph:
    """Blocks of a function, and the branches that matter.

    Args:
        function: Its steps.
    """

    def __init__(self, function: Function) -> None:
        self.steps = function.steps
        leaders = {0}
        for index, step in enumerate(self.steps):
            leaders.update(target for target in step.targets if target < len(self.steps))
            if step.kind in code.ENDING or (step.guard and step.kind in code.OWNING):
                leaders.add(index + 1)
        starts = sorted(item for item in leaders if item < len(self.steps))
        self.blocks = [Block(first, end) for first, end in zip(starts, [*starts[1:], len(self.steps)], strict=True)]
        self.out = len(self.blocks)
        self._block_at = {block.first: index for index, block in enumerate(self.blocks)}
        for block in self.blocks:
            block.after = tuple(dict.fromkeys(self.block_of(item) for item in successors(self.steps, block.end - 1)))

    def block_of(self, index: int) -> int:
        """The block that begins with a step; ``out`` for one past the end."""
        return self._block_at.get(index, self.out)

    def deciding(self) -> set[int]:
        """Indices of the conditional steps that decide whether columns are allocated, freed or relinquished.

        Those are branches from which, before both ways meet again, such a step can be reached.
        """
        meets = self._meeting_points()
        owning = [any(step.kind in code.OWNING for step in self.steps[block.first : block.end]) for block in self.blocks]
        found = set()
        for index, block in enumerate(self.blocks):
            last = self.steps[block.end - 1]
            if len(block.after) > 1 and last.kind in code.ENDING and self._reaches(index, meets[index], owning):
                found.add(block.end - 1)
        return found

    def _reaches(self, start: int, until: int, owning: list[bool]) -> bool:
        seen, stack = {until, self.out}, list(self.blocks[start].after)
        while stack:
            block = stack.pop()
            if block in seen:
                continue
            if owning[block]:
                return True
            seen.add(block)
            stack.extend(self.blocks[block].after)
        return False

    def _meeting_points(self) -> list[int]:
        """For each block the nearest one that every way on from it passes.

        That is its immediate postdominator, found as Cooper, Harvey and Kennedy (2001) do.
        """
        before: list[list[int]] = [[] for _ in range(self.out + 1)]
        for index, one in enumerate(self.blocks):
            for item in one.after:
                before[item].append(index)
        order = self._backwards(before)
        place = {block: rank for rank, block in enumerate(order)}
        nearest = {self.out: self.out}
        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                known = [item for item in self.blocks[block].after if item in nearest]
                merged = known[0]
                for item in known[1:]:
                    merged = _common(merged, item, nearest, place)
                if nearest.get(block) != merged:
                    nearest[block] = merged
                    changed = True
        # What never gets out meets nowhere: everything that it reaches counts.
        return [nearest.get(block, self.out) for block in range(len(self.blocks))]

    def _backwards(self, before: list[list[int]]) -> list[int]:
        """Blocks from which the way out can be reached, in reverse postorder of the graph turned round."""
        done: list[int] = []
        seen = {self.out}
        stack = [(self.out, iter(before[self.out]))]
        while stack:
            block, rest = stack[-1]
            for item in rest:
                if item not in seen:
                    seen.add(item)
                    stack.append((item, iter(before[item])))
                    break
            else:
                done.append(block)
                stack.pop()
        return done[::-1]


def _common(left: int, right: int, nearest: dict[int, int], place: dict[int, int]) -> int:
    while left != right:
        while place[left] > place[right]:
            left = nearest[left]
        while place[right] > place[left]:
            right = nearest[right]
    return left


def successors(steps: list[Step], index: int) -> tuple[int, ...]:
    """Indices of the steps that may follow one; ``len(steps)`` is the way out."""
    step, out = steps[index], len(steps)
    if step.kind == code.BRANCH:
        # ``brx`` has no guard in its operands, but goes one of several ways.
        fall = (index + 1,) if step.guard else ()
        return (*(min(target, out) for target in step.targets), *fall) or (out,)
    if step.kind == code.LEAVE:
        return (out, index + 1) if step.guard else (out,)
    if step.kind in (code.TRAP, code.LOST):
        return (index + 1,) if step.guard else ()  # Nobody has to clean up after a trap.
    return (index + 1,)
