"""Mutant: an honest kernel with one fault planted in it, and how mutants are made."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kcbench.mutants.program import Program
from kcbench.mutants.registry import all_operators
from kcbench.study import shares

M = TypeVar("M")

GRADIENT = "gradient"
"""Fault class of whatever is changed inside a handwritten backward pass."""


@dataclass(frozen=True)
class Mutant:
    """A kernel with one planted fault, or with a change that turns out to be none."""

    id: str
    """The operator's name and a digest of the source."""
    operator: str
    fault: str
    """Fault class."""
    line: int
    """Line of the original source."""
    description: str
    """What was changed, in one line."""
    source: str


def mutants(source: str, *, limit: int | None = None, seed: str = "0") -> Iterator[Mutant]:
    """The mutants of a kernel, each once: what two operators make of it alike is the first one's.

    Args:
        source: The honest kernel's text.
        limit: At most so many, drawn by :func:`shared_out`.
        seed: Of that draw.
    """
    found = list(_all(source))
    if limit is not None and limit < len(found):
        chosen = {mutant.id for mutant in shared_out(found, limit, seed)}
        found = [mutant for mutant in found if mutant.id in chosen]
    yield from found


def _all(source: str) -> Iterator[Mutant]:
    program = Program(source)
    backward = [node for node in program.functions if node.name == "backward"]
    # Unparsed text has one form, so that equal programs have equal texts.
    known = {ast.unparse(program.tree) + "\n"}
    for operator in all_operators():
        for change in operator.changes(program):
            text = program.mutated(change)
            if text in known:
                continue
            known.add(text)
            in_backward = any(node.lineno <= change.line <= (node.end_lineno or node.lineno) for node in backward)
            fault = GRADIENT if in_backward else operator.fault
            digest = hashlib.sha256(text.encode()).hexdigest()[:10]
            yield Mutant(f"{operator.name}-{digest}", operator.name, fault, change.line, change.description, text)


def _itself(item: Any) -> Mutant:
    return item  # type: ignore[no-any-return]


def shared_out(found: Sequence[M], limit: int, seed: str, *, of: Callable[[M], Mutant] = _itself) -> Iterator[M]:
    """Draw some of many mutants: one of each fault class in turn, and within a class one of each operator in turn.

    Args:
        found: What to draw from.
        limit: How many.
        seed: Of the draw.
        of: The mutant of an item.
    """

    def kind(item: M) -> tuple[str, str]:
        mutant = of(item)
        return mutant.fault, mutant.operator

    yield from shares.shared_out(found, limit, f"{seed}/mutants", kind=kind)
