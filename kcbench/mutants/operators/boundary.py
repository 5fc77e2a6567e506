"""Boundary and mask: an edge off by one, a mask that is gone, a fill value that counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program

FAULT = "boundary"
_EDGES = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


def _compare_edge(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Compare):
        sign = _EDGES.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if sign is not None:
            new = f"{ast.unparse(node.left)} {sign} {ast.unparse(node.comparators[0])}"
            yield Change(f"{ast.unparse(node)} becomes {new}", node.lineno, ((node, f"({new})"),))


def _compare_off_by_one(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Compare, where="kernel"):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt):
            bound = node.comparators[0]
            for step in ("- 1", "+ 1"):
                new = f"{ast.unparse(bound)} {step}"
                yield Change(f"the bound {ast.unparse(bound)} becomes {new}", node.lineno, ((bound, new),))


def _mask_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call, where="kernel"):
        kept = [keyword for keyword in node.keywords if keyword.arg not in ("mask", "other")]
        if len(kept) < len(node.keywords):
            new = ast.unparse(ast.Call(node.func, node.args, kept))
            yield Change(f"{ast.unparse(node.func)} without its mask", node.lineno, ((node, new),))


def _condition_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.BinOp):
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            for kept, gone in ((node.left, node.right), (node.right, node.left)):
                yield Change(f"the condition {ast.unparse(gone)} is dropped", node.lineno, ((node, ast.unparse(kept)),))


def _other_value(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.keyword, where="kernel"):
        if node.arg == "other":
            for new in ("1.0", "0.0", "float('-inf')"):
                yield Change(f"masked lanes load {new}", node.value.lineno, ((node.value, new),))


def _range(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        if not (isinstance(node.func, ast.Name) and node.func.id == "range"):
            continue
        texts = [ast.unparse(item) for item in node.args]
        start, stop = ("0", texts[0]) if len(texts) == 1 else texts[:2]
        step = texts[2] if len(texts) > 2 else "1"
        for new in (f"range({start}, {stop} - 1, {step})", f"range({start} + {step}, {stop}, {step})"):
            yield Change(f"{ast.unparse(node)} becomes {new}", node.lineno, ((node, new),))
        if step != "1":
            new = f"range({start}, {stop} // {step} * {step}, {step})"
            yield Change(f"the short last block of {ast.unparse(node)} is skipped", node.lineno, ((node, new),))


def _slice_edge(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Slice):
        if node.upper is not None:
            new = f"({ast.unparse(node.upper)}) - 1"
            yield Change(f"a slice ends at {new}", node.upper.lineno, ((node.upper, new),))
        if node.lower is not None:
            new = f"({ast.unparse(node.lower)}) + 1"
            yield Change(f"a slice begins at {new}", node.lower.lineno, ((node.lower, new),))


def _cdiv(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        if ast.unparse(node.func) == "triton.cdiv" and len(node.args) == 2:
            new = f"max({ast.unparse(node.args[0])} // {ast.unparse(node.args[1])}, 1)"
            yield Change("the grid leaves the last short block out", node.lineno, ((node, new),))


OPERATORS = (
    Operator("compare-edge", FAULT, _compare_edge),
    Operator("compare-off-by-one", FAULT, _compare_off_by_one),
    Operator("mask-dropped", FAULT, _mask_dropped),
    Operator("condition-dropped", FAULT, _condition_dropped),
    Operator("other-value", FAULT, _other_value),
    Operator("range-edge", FAULT, _range),
    Operator("slice-edge", FAULT, _slice_edge),
    Operator("grid-short", FAULT, _cdiv),
)
