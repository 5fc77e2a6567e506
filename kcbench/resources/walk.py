"""Takes one warp through one block of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kcbench.resources import code, values
from kcbench.resources.code import Step
from kcbench.resources.graph import Graph
from kcbench.resources.limits import COLUMNS_LEAST, COLUMNS_MOST, legal_columns
from kcbench.resources.owned import Allocation, Ending, Fault, Followed, Live, Owned, Way
from kcbench.resources.values import Value

Known = dict[Value | str, Value]
"""Values by register, and by ``("slot", address)`` for shared memory."""


@dataclass(frozen=True, slots=True)
class State:
    """What tells one way of being at a block from another."""

    owned: Owned
    conditions: frozenset[tuple[Value, bool]]
    """What was supposed of conditions that are not known."""


@dataclass
class Scene:
    """What is the same for every warp of a function."""

    graph: Graph
    deciding: set[int]
    """Steps whose condition decides what is owned."""
    kept: list[list[int]]
    """By block, the steps that have a say in that."""
    owning: frozenset[str]
    """Names of other functions that allocate or free."""
    registers: frozenset[str]
    """Names that some step writes."""
    slots: dict[Value, Allocation] = field(default_factory=dict)
    """Where in shared memory the address of which allocation is, by any warp followed so far."""


Onward = list[tuple[int, State, Known, Way]]
"""Where a block may lead: block, what is owned and supposed there, what is known, and how it got there."""


class Walk:
    """One visit of one block."""

    def __init__(
        self,
        scene: Scene,
        special: Mapping[str, int],
        found: Followed,
        state: State,
        known: Known,
        way: Way,
    ) -> None:
        self._scene, self._special, self._found = scene, special, found
        self._steps = scene.graph.steps
        self._owned, self._conditions = state.owned, dict(state.conditions)
        self._known, self._way = known, way

    def run(self, number: int) -> Onward:
        """Execute a block's steps and say where that may lead."""
        block = self._scene.graph.blocks[number]
        for index in self._scene.kept[number]:
            step = self._steps[index]
            if step.kind in code.ENDING:
                continue
            held = self._holds(step) if step.guard else True
            if held is False:
                continue
            if held is None and step.kind in code.OWNING:
                return self._both(index)
            if not self._execute(index, step, surely=held is True):
                return []
        return self._leave(block.end - 1)

    def _both(self, index: int) -> Onward:
        """A guarded step, the last of its block, whose guard is not known: once as if it held, once as if not."""
        ways: Onward = []
        for held in (True, False):
            walk = self._copy()
            walk._suppose(index, held)
            if not held or walk._execute(index, self._steps[index], surely=True):
                ways += walk._leave(index)
        return ways

    def _leave(self, last: int) -> Onward:
        step, graph = self._steps[last], self._scene.graph
        held = self._holds(step) if step.guard else True
        if step.kind not in code.ENDING:
            return self._go(last, graph.block_of(last + 1), last + 1)
        if step.kind == code.BRANCH and not step.guard:
            return [way for target in step.targets for way in self._copy()._go(last, graph.block_of(target), target)]
        ways: Onward = []
        for taken in (True, False):
            if held is not None and held != taken:
                continue
            walk = self._copy()
            if held is None:
                walk._suppose(last, taken)
            if not taken:
                ways += walk._go(last, graph.block_of(last + 1), last + 1)
            elif step.kind == code.LEAVE:
                walk._end(last)
            elif step.kind == code.LOST:
                self._found.doubts["it goes on where the code does not say, and is not followed there"] = last
            elif step.kind == code.BRANCH:
                ways += [way for target in step.targets for way in walk._go(last, graph.block_of(target), target)]
        return ways

    def _go(self, last: int, block: int, index: int) -> Onward:
        if block == self._scene.graph.out:
            self._end(min(index, len(self._steps)))
            return []
        return [(block, State(self._owned, frozenset(self._conditions.items())), self._known, self._way)]

    def _end(self, index: int) -> None:
        ending = Ending(index, self._owned, self._way, frozenset(self._conditions.items()))
        self._found.ended.setdefault((index, ending.owned, ending.conditions), ending)

    def _copy(self) -> Walk:
        state = State(self._owned, frozenset(self._conditions.items()))
        return Walk(self._scene, self._special, self._found, state, dict(self._known), self._way)

    def _holds(self, step: Step) -> bool | None:
        """Whether the guard lets a step be executed, if that is known."""
        about, positive = values.condition(self._value(step.guard))
        number = values.number_of(about)
        truth = bool(number) if number is not None else self._conditions.get(about) if about is not None else None
        return None if truth is None else (truth == positive) != step.negated

    def _suppose(self, index: int, held: bool) -> None:
        """Go on as if a step's guard let it be executed, or not; remembered where it decides what is owned."""
        step = self._steps[index]
        if index not in self._scene.deciding and step.kind not in code.OWNING:
            return
        about, positive = values.condition(self._value(step.guard))
        self._way = self._way.then(index, held)
        truth = held != step.negated
        if about is not None:
            self._conditions[about] = truth == positive
        self._known[step.guard] = values.number(int(truth))

    def _value(self, operand: str) -> Value:
        """What an operand is."""
        operand = operand.strip()
        if operand.startswith("!"):
            return values.opposite(self._value(operand[1:]))
        if operand in self._known:
            return self._known[operand]
        if operand in self._special:
            return values.number(self._special[operand])
        number = as_number(operand)
        if number is not None:
            return values.number(number)
        if operand.startswith("%") and operand[1:].partition(".")[0] in _UNIFORM:
            return values.same("special", operand)
        # A register that was written on no way here, or on several differently, is not known; any other name is a variable's.
        if not operand or operand in self._scene.registers:
            return None
        return ("symbol", operand, 0) if operand[0].isalpha() or operand[0] in "_$" else None

    def _address(self, operand: str) -> Value:
        """What ``[%r1+16]`` or ``%r1`` points at."""
        base, *rest = operand.strip("[] ").split("+")
        value = self._value(base)
        for item in rest:
            value = values.compute("add.s32", (value, self._value(item)))
        return value

    def _execute(self, index: int, step: Step, *, surely: bool) -> bool:
        """Take a step; False where nothing sensible can follow it."""
        if step.kind == code.ALLOCATE:
            return self._allocate(index, step)
        if step.kind == code.FREE:
            self._free(index, step)
        elif step.kind == code.RELINQUISH:
            if self._owned.relinquished < 0:
                self._owned = replace(self._owned, relinquished=index)
        elif step.kind == code.USE:
            self._use(index, step)
        elif step.kind == code.CALL and step.op in self._scene.owning:
            self._found.doubts[f"{step.op}, which allocates or frees, is called and not followed"] = index
            self._found.calls = True
        elif step.op.startswith("st.shared") and len(step.operands) > 1:
            self._store(step)
        if step.results and step.kind != code.ALLOCATE:
            self._write(index, step, surely=surely)
        return True

    def _write(self, index: int, step: Step, *, surely: bool) -> None:
        results = self._results(index, step)
        for name, value in zip(step.results, results, strict=True):
            self._forget(index, value)
            self._known[name] = value if surely else values.join(value, self._known.get(name))

    def _forget(self, index: int, value: Value) -> None:
        """A step that is executed again makes another value: what was known of its last one no longer holds."""
        if index not in values.made_by(value):
            return
        for about in [item for item in self._conditions if index in values.made_by(item)]:
            del self._conditions[about]
        for name in [name for name, known in self._known.items() if index in values.made_by(known)]:
            self._known[name] = None

    def _results(self, index: int, step: Step) -> list[Value]:
        base = step.op.partition(".")[0]
        own = values.made(index)
        if step.kind != code.COMPUTE:
            return [None] * len(step.results)
        if base == "elect":
            # Of the warp one thread is followed, and that is the one elected.
            return [
                values.number(1) if place == len(step.results) - 1 else values.number(0) for place in range(len(step.results))
            ]
        if base == "ld" or base == "ldu":
            return [self._load(step, own, place) for place in range(len(step.results))]
        if base == "shfl" and step.operands and ".idx" in step.op and len(step.operands) > 1 and as_number(step.operands[1]) == 0:
            return [self._value(step.operands[0]), *[values.number(1)] * (len(step.results) - 1)]
        if (base == "mul" and ".hi" in step.op) or (base == "mad" and ".hi" in step.op):
            return [own] * len(step.results)
        args = [self._address(item) if item.startswith("[") else self._value(item) for item in step.operands]
        value = values.compute(step.op, args)
        # Not known, but the same until the step is executed again.
        value = own if value is None else value
        if len(step.results) == 2 and base == "setp":
            return [value, values.opposite(value)]
        return [value, *[None] * (len(step.results) - 1)]

    def _load(self, step: Step, own: Value, place: int) -> Value:
        address = self._address(step.operands[0]) if step.operands else None
        if place == 0 and address is not None:
            if ("slot", address) in self._known:
                return self._known["slot", address]
            if address in self._scene.slots:
                return ("memory", self._scene.slots[address], 0)
        if ".param" in step.op or ".const" in step.op:
            return values.same("load", address, place) if address is not None else own
        return values.same(own, place)

    def _allocate(self, index: int, step: Step) -> bool:
        columns = values.number_of(self._value(step.operands[1])) if len(step.operands) > 1 else None
        if columns is None:
            self._found.doubts["how many columns are allocated is not fixed in the code"] = index
        elif not legal_columns(columns):
            self._fault("size", index, columns=columns)
            return False
        if self._owned.relinquished >= 0:
            self._fault("after-relinquish", index, self._owned.relinquished, columns or 0)
            return False
        mine = {item.id[1] for item in self._owned.live if item.id[0] == index}
        fresh = Live((index, next(number for number in range(len(mine) + 1) if number not in mine)), columns or 0)
        owned = replace(self._owned, live=(*self._owned.live, fresh), freed=self._owned.freed - {fresh.id})
        if owned.columns > sum(item.columns for item in self._found.peak):
            self._found.peak = owned.live
        if owned.columns > COLUMNS_MOST:
            self._fault("over", index, columns=fresh.columns)
            self._found.piles_up |= bool(mine)
            return False
        if len(owned.live) > COLUMNS_MOST // COLUMNS_LEAST:
            # Allocations of unknown size without end.
            self._found.doubts["allocations of columns that the code does not fix pile up in a loop"] = index
            return False
        self._owned = owned
        self._found.allocates[index] = columns or 0
        if step.results:
            self._known.update(zip(step.results, (("memory", fresh.id, 0), values.number(1)), strict=False))
            return True
        address = self._address(step.operands[0]) if step.operands else None
        if address is not None:
            self._known["slot", address] = ("memory", fresh.id, 0)
            self._scene.slots.setdefault(address, fresh.id)
        return True

    def _store(self, step: Step) -> None:
        """Remember where the address of an allocation is put for others."""
        address, value = self._address(step.operands[0]), self._value(step.operands[1])
        if address is None or value is None or value[0] != "memory":
            return
        self._known["slot", address] = value
        allocation = value[1]
        if isinstance(allocation, tuple):
            self._scene.slots.setdefault(address, allocation)

    def _free(self, index: int, step: Step) -> None:
        address = self._address(step.operands[0]) if step.operands else None
        columns = values.number_of(self._value(step.operands[1])) if len(step.operands) > 1 else None
        if address is not None and address[0] == "mask":
            columns, address = values.number_of(values.number(_whole(address[1]))), ("memory", address[2], 0)
        target = self._target(address, columns)
        if target is not None:
            if columns is not None and target.columns and columns != target.columns:
                self._fault("columns-differ", index, target.id[0])
            live = tuple(item for item in self._owned.live if item is not target)
            self._owned = replace(self._owned, live=live, freed=self._owned.freed | {target.id})
        elif address is not None and address[0] == "memory":
            allocation = address[1]
            if allocation in self._owned.freed:
                self._fault("twice", index, _whole(_first(allocation)))
            else:
                self._owned = replace(
                    self._owned, foreign=_counted(self._owned.foreign, (_whole(_first(allocation)), columns or 0))
                )
        else:
            self._owned = replace(self._owned, foreign=_counted(self._owned.foreign, (-1, columns or 0)))

    def _target(self, address: Value, columns: int | None) -> Live | None:
        """Which live allocation a free means: the one at its address, and without an address the oldest of as many columns."""
        if address is not None and address[0] == "memory":
            return next((item for item in self._owned.live if item.id == address[1]), None)
        fitting = [item for item in self._owned.live if columns is None or item.columns in (0, columns)]
        return fitting[0] if fitting else None

    def _use(self, index: int, step: Step) -> None:
        for operand in step.operands:
            address = self._address(operand)
            if address is not None and address[0] == "memory" and address[1] in self._owned.freed:
                self._fault("use-after-free", index, _whole(_first(address[1])))

    def _fault(self, kind: str, index: int, other: int = -1, columns: int = 0) -> None:
        self._found.faults.setdefault((kind, index), Fault(kind, index, self._owned, self._way, other, columns))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else -1


def _first(value: object) -> object:
    return value[0] if isinstance(value, tuple) and value else None


def _counted(foreign: tuple[tuple[int, int], ...], item: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """With one more; in a loop they would grow without end, and four of a kind say what there is to say."""
    return foreign if foreign.count(item) >= 4 else (*foreign, item)


_UNIFORM = frozenset(
    [
        "ctaid",
        "nctaid",
        "ntid",
        "clusterid",
        "nclusterid",
        "cluster_ctaid",
        "cluster_nctaid",
        "cluster_ctarank",
        "cluster_nctarank",
        "gridid",
    ]
)
"""Special registers that are the same for all threads of a block for as long as it lives."""


def as_number(text: str) -> int | None:
    """A literal of PTX or SASS: decimal, hexadecimal, octal or binary, signed; None for anything else."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    digits = digits.removesuffix("U")
    if not digits or not digits[0].isdigit() or len(digits) > 40:
        return None
    try:
        if digits[:2].lower() in ("0x", "0b"):
            return sign * int(digits, 0)
        return sign * (int(digits, 8) if digits[0] == "0" else int(digits))
    except ValueError:
        return None
