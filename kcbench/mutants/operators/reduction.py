"""Reduction: a partial sum that is lost, a wrong start, another reduction, a block that is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program

FAULT = "reduction"
_OTHER_KIND = {"sum": "mean", "mean": "sum", "amax": "amin", "amin": "amax", "cumsum": "cumprod", "logsumexp": "sum"}
_OTHER_TL = {"sum": "max", "max": "min"}
_OTHER_START = {"zeros": "ones", "zeros_like": "ones_like"}


def _partial_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.AugAssign):
        if isinstance(node.op, ast.Add):
            target = ast.unparse(node.target)
            text = f"{target} = {ast.unparse(node.value)}"
            yield Change(f"what {target} held is lost", node.lineno, ((node, text),))
    for assign in program.nodes(ast.Assign):
        value = assign.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and isinstance(assign.targets[0], ast.Name):
            target = assign.targets[0].id
            for side, other in ((value.left, value.right), (value.right, value.left)):
                if any(isinstance(item, ast.Name) and item.id == target for item in ast.walk(side)):
                    yield Change(f"what {target} held is lost", assign.lineno, ((value, ast.unparse(other)),))


def _start(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        name = ast.unparse(node.func)
        if name in ("tl.full", "torch.full", "torch.full_like") and len(node.args) > 1:
            new = "1.0" if ast.unparse(node.args[1]) in ("0.0", "0") else "0.0"
            yield Change(f"{name} begins with {new}", node.lineno, ((node.args[1], new),))
        head, _, last = name.rpartition(".")
        if last in _OTHER_START and head in ("torch", "tl"):
            yield Change(f"begins with {_OTHER_START[last]}", node.lineno, ((node.func, f"{head}.{_OTHER_START[last]}"),))


def _loop_cut(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.For, where="host"):
        items = ast.unparse(node.iter)
        for part, which in (("[:-1]", "last"), ("[1:]", "first")):
            yield Change(
                f"the {which} turn of the loop over {items} is left out", node.lineno, ((node.iter, f"list({items}){part}"),)
            )


def _sum_cut(program: Program) -> Iterator[Change]:
    """A sum over blocks, written as a generator or over ``split``."""
    for node in program.nodes(ast.comprehension):
        items = ast.unparse(node.iter)
        yield Change(f"the last of {items} is left out", node.iter.lineno, ((node.iter, f"list({items})[:-1]"),))


def _other_kind(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        if not isinstance(node.func, ast.Attribute):
            continue
        table = _OTHER_TL if ast.unparse(node.func.value) == "tl" else _OTHER_KIND
        new = table.get(node.func.attr)
        if new is not None:
            text = f"{ast.unparse(node.func.value)}.{new}"
            yield Change(f"{node.func.attr} becomes {new}", node.lineno, ((node.func, text),))


def _unbiased(program: Program) -> Iterator[Change]:
    """A mean divides by one less than the number of its terms."""
    for node in program.nodes(ast.Call, where="host"):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "mean" and node.args:
            value, dim = ast.unparse(node.func.value), ast.unparse(node.args[0])
            if value != "torch" and not dim.startswith("("):
                total = ast.unparse(node).replace(".mean(", ".sum(") if ast.unparse(node).count(".mean(") == 1 else ""
                text = f"{total} / max({value}.shape[{dim}] - 1, 1)"
                if total:
                    yield Change("a mean divides by one less", node.lineno, ((node, f"({text})"),))
    for division in program.nodes(ast.BinOp, where="kernel"):
        if isinstance(division.op, ast.Div) and isinstance(division.right, ast.Name):
            new = f"({division.right.id} - 1)"
            yield Change(f"divides by {new}", division.lineno, ((division.right, new),))


def _halves(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.BinOp, where="host"):
        if isinstance(node.op, ast.FloorDiv) and ast.unparse(node.right) == "2":
            text = f"({ast.unparse(node)} - 1)"
            yield Change(f"{ast.unparse(node)} is one less", node.lineno, ((node, text),))


OPERATORS = (
    Operator("partial-dropped", FAULT, _partial_dropped),
    Operator("start", FAULT, _start),
    Operator("loop-cut", FAULT, _loop_cut),
    Operator("sum-cut", FAULT, _sum_cut),
    Operator("other-reduction", FAULT, _other_kind),
    Operator("divisor", FAULT, _unbiased),
    Operator("halves", FAULT, _halves),
)
