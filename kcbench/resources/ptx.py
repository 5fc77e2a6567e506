"""Reads PTX text into functions and steps.

The whole of PTX is not checked here, that is for ptxas: what is not understood becomes a step without effect on Tensor Memory,
and text that is no PTX at all gives no functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kcbench.resources import code
from kcbench.resources.code import Function, Step

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\[^\n]|[^\"\\\n])*\"?", re.DOTALL)
"""What is unclosed ends with the text or the line: looking for its end again and again would take forever."""
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_LINE_DIRECTIVE = re.compile(r"\.(?:loc|file|version|target|address_size)\b[^\n]*")
_SECTION = re.compile(r"\.section\b[^{;]*\{")
_HEAD = re.compile(r"(?:\.(?:visible|extern|weak|common)\s+)*\.(?P<kind>entry|func)\b")
_NAME = re.compile(r"^\s*(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$%][\w$]*)")
_GUARD = re.compile(r"@\s*(?P<no>!?)\s*(?P<guard>[%\w$]+)\s*")
_SHARED = re.compile(
    r"\.shared\b(?:\s*\.align\s+(?P<align>\d+))?\s*(?:\.v(?P<vector>[24])\s*)?\.[a-z]+(?P<bits>\d+)\s+[\w$%]+"
    r"(?P<sizes>(?:\s*\[\s*\d*\s*\])*)"
)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r"\.file\s+(\d+)\s+((?:\"[^\"\n]*\"\s*)+)")
_TARGET = re.compile(r"\.target\s+(sm_\w+)")
_ENDER = re.compile("[;{}]")
_GROUP = re.compile(r"\.cta_group::([12])")

_PLAIN = (
    "bar",
    "barrier",
    "membar",
    "fence",
    "red",
    "st",
    "prefetch",
    "nanosleep",
    "setmaxnreg",
    "griddepcontrol",
    "discard",
    "cp",
    "pmevent",
)
"""Instructions whose first operand is not written."""


class _Statement(NamedTuple):
    offset: int
    text: str
    end: str
    """``;``, ``{``, ``}``, ``:`` for a label, or a line break for a directive of one line."""


def functions(text: str) -> list[Function]:
    """The functions that PTX text defines, with their steps.

    Args:
        text: A whole file or a part of it; anything at all does no harm.
    """
    return _Reader(text).read()


def is_ptx(text: str) -> bool:
    """Whether text looks like PTX."""
    return _HEAD.search(text) is not None and _TARGET.search(text) is not None


@dataclass
class _Open:
    """The function being read."""

    function: Function
    scopes: list[int] = field(default_factory=list)
    """Numbers of the braces around, outermost first."""
    labels: dict[tuple[int, str], int] = field(default_factory=dict)
    """Index of the step after a label, by scope."""
    pending: list[tuple[int, tuple[int, ...], tuple[str, ...]]] = field(default_factory=list)
    """Branches: index, scopes, labels."""
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels that ``.branchtargets`` lists, by its own label."""
    opened: int = 0
    label: str = ""
    """The last label, if nothing has followed it."""


class _Reader:
    def __init__(self, text: str) -> None:
        # Strings stay for file names; everything else that is no code is blanked, so that offsets and lines stay.
        self._files = {int(number): names.split('"')[-2] for number, names in _FILE.findall(text)}
        self._text = _COMMENT.sub(
            lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0][0] == "/" else "_" * len(match[0]), text
        )
        self._breaks = [-1, *(match.start() for match in re.finditer("\n", self._text))]
        self._line = 1
        self._target = ""
        self._source = ""
        self._open: _Open | None = None
        self._found: list[Function] = []

    def read(self) -> list[Function]:
        for statement in self._statements():
            while self._line < len(self._breaks) and self._breaks[self._line] < statement.offset:
                self._line += 1
            self._take(statement)
        if self._open is not None:
            self._close()
        return self._found

    def _statements(self) -> Iterator[_Statement]:
        text, at = self._text, 0
        while at < len(text):
            if text[at] in " \t\r\n\f\v":
                at += 1
            elif text[at] in "{};":
                yield _Statement(at, "", text[at])
                at += 1
            elif match := _LINE_DIRECTIVE.match(text, at):
                yield _Statement(at, match[0], "\n")
                at = match.end()
            elif match := _LABEL.match(text, at):
                yield _Statement(at, match[1], ":")
                at = match.end()
            elif match := _SECTION.match(text, at):
                end = text.find("}", match.end())
                at = len(text) if end < 0 else end + 1
            else:
                end, ender = self._end(at)
                yield _Statement(at, text[at:end], ender)
                at = end + (ender == ";")

    def _end(self, start: int) -> tuple[int, str]:
        """Where a statement ends: at its semicolon, or before the brace that opens a function's body."""
        text, depth = self._text, 0
        head = _HEAD.match(text, start) is not None
        for match in _ENDER.finditer(text, start):
            if match[0] == ";" and depth <= 0:
                return match.start(), ";"
            if match[0] == "{":
                if head:
                    return match.start(), "{"
                depth += 1
            elif match[0] == "}":
                if depth <= 0:
                    return match.start(), "}"
                depth -= 1
        return len(text), ";"

    def _take(self, statement: _Statement) -> None:
        text = statement.text
        if not text:
            self._brace(statement.end)
        elif statement.end == "\n":
            self._directive(text)
        elif self._open is None:
            if (head := _HEAD.match(text)) and statement.end == "{":
                self._begin(text, head)
        elif not self._open.scopes:
            return
        elif statement.end == ":":
            self._open.labels.setdefault((self._open.scopes[-1], text), len(self._open.function.steps))
            self._open.label = text
        elif text.startswith("."):
            self._declare(text)
            self._open.label = ""
        else:
            self._open.function.steps.append(self._step(text))
            self._open.label = ""

    def _brace(self, brace: str) -> None:
        if self._open is None:
            return
        if brace == "{":
            self._open.opened += 1
            self._open.scopes.append(self._open.opened)
        elif brace == "}":
            del self._open.scopes[-1:]
            if not self._open.scopes:
                self._close()

    def _directive(self, text: str) -> None:
        if match := _TARGET.match(text):
            self._target = match[1]
        elif match := _LOC.match(text):
            name = self._files.get(int(match[1]), "")
            self._source = f"{name}:{match[2]}" if name and int(match[2]) else ""

    def _begin(self, text: str, head: re.Match[str]) -> None:
        rest = text[head.end() :]
        name = _NAME.match(rest)
        function = Function(name["name"] if name else "?", self._line, head["kind"] == "entry", self._target)
        function.threads, function.threads_exact = _triple(text, "reqntid"), True
        if function.threads is None:
            function.threads, function.threads_exact = _triple(text, "maxntid"), False
        function.resident = _number(text, "minnctapersm")
        cluster = _triple(text, "reqnctapercluster")
        function.cluster = cluster or ()
        self._open = _Open(function)
        self._source = ""

    def _declare(self, text: str) -> None:
        assert self._open is not None
        if match := _SHARED.match(text):
            size = int(match["bits"]) // 8 * int(match["vector"] or 1)
            size *= math.prod(int(item or 0) for item in re.findall(r"\[\s*(\d*)\s*\]", match["sizes"]))
            align = max(int(match["align"] or 1), 1)
            self._open.function.shared = -(-self._open.function.shared // align) * align + size
        elif text.startswith(".branchtargets") and self._open.label:
            self._open.tables[self._open.label] = tuple(re.findall(r"[\w$%]+", text[len(".branchtargets") :]))

    def _step(self, text: str) -> Step:
        assert self._open is not None
        shown = " ".join(text.split())
        guard, negated = "", False
        if match := _GUARD.match(text):
            guard, negated = match["guard"], match["no"] == "!"
            text = text[match.end() :]
        op, *rest = text.split(None, 1) or [""]
        operands = _split(rest[0]) if rest else []
        group = _GROUP.search(op)
        step = Step(
            self._line,
            shown if len(shown) <= 200 else shown[:197] + "...",
            *_meaning(op, operands),
            guard=guard,
            negated=negated,
            group=int(group[1]) if group and op.startswith("tcgen05.") else 0,
            source=self._source,
        )
        if step.kind == code.BRANCH:
            names = tuple(operands[:1])
            if op.startswith("brx"):
                names = self._open.tables.get(operands[-1], ()) if operands else ()
            self._open.pending.append((len(self._open.function.steps), tuple(self._open.scopes), names))
        return step

    def _close(self) -> None:
        assert self._open is not None
        function = self._open.function
        for index, scopes, names in self._open.pending:
            places = []
            for name in names:
                known = (self._open.labels.get((scope, name)) for scope in reversed(scopes))
                places += [place for place in known if place is not None][:1]
            step = function.steps[index]
            function.steps[index] = (
                replace(step, targets=tuple(dict.fromkeys(places))) if places else replace(step, kind=code.LOST)
            )
        self._found.append(function)
        self._open = None


def _triple(text: str, name: str) -> tuple[int, int, int] | None:
    match = re.search(rf"\.{name}\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", text)
    if match is None:
        return None
    x, y, z = (min(int(item or 1), 1 << 20) for item in match.groups())
    return x, y, z


def _number(text: str, name: str) -> int:
    match = re.search(rf"\.{name}\s+(\d+)", text)
    return min(int(match[1]), 1 << 20) if match else 0


def _split(text: str) -> list[str]:
    """Operands at the commas outside of brackets."""
    parts, depth, part = [], 0, ""
    for letter in text:
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        depth += (letter in "[{(") - (letter in "]})")
        part += letter
    return [*parts, part.strip()] if part.strip() else parts


def _registers(operand: str) -> tuple[str, ...]:
    """The names in an operand: one register, ``%p|%q``, or a vector in braces."""
    return tuple(item for item in re.split(r"[\s{},|]+", operand) if item and not item[0].isdigit())


def _meaning(op: str, operands: Sequence[str]) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """Kind, operation, results and operands of an instruction."""
    base, _, rest = op.partition(".")
    if base == "tcgen05":
        return _tensor_memory(rest.partition(".")[0], op, operands)
    if base in ("bra", "brx"):
        return code.BRANCH, op, (), tuple(operands[:1]) if base == "brx" else ()
    if base in ("ret", "exit"):
        return code.LEAVE, op, (), ()
    if base == "trap":
        return code.TRAP, op, (), ()
    if base == "call":
        names = [item for item in operands if not item.startswith("(")]
        returned = operands[0] if operands and operands[0].startswith("(") and len(operands) > 1 else ""
        return code.CALL, names[0] if names else "", _registers(returned.strip("()")), ()
    if base in _PLAIN or not operands:
        return code.COMPUTE, op, (), tuple(operands)
    return code.COMPUTE, op, _registers(operands[0]), tuple(operands[1:])


def _tensor_memory(name: str, op: str, operands: Sequence[str]) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    if name == "alloc":
        return code.ALLOCATE, op, (), tuple(operands[:2])
    if name == "dealloc":
        return code.FREE, op, (), tuple(operands[:2])
    if name == "relinquish_alloc_permit":
        return code.RELINQUISH, op, (), ()
    if name == "ld":
        return code.USE, op, _registers(operands[0]) if operands else (), tuple(operands[1:2])
    if name == "mma":
        # The accumulator, and the operand A or what scales it where they lie in Tensor Memory: those stand in brackets.
        return code.USE, op, (), tuple(item for item in operands if item.startswith("["))
    if name in ("st", "cp", "shift"):
        return code.USE, op, (), tuple(operands[:1])
    return code.COMPUTE, op, (), ()
