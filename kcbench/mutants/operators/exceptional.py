"""Exceptional values: NaN dropped, infinities cut, a shift by the maximum that is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kcbench.mutants.change import Change
from kcbench.mutants.operator import Operator
from kcbench.mutants.program import Program
from kcbench.mutants.wrapping import wrapping

FAULT = "exceptional"
_PEAKS = ("amax", "max", "peak", "shift", "top")
_MIRRORED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<"}


def _dropping_maximum(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        name, args = ast.unparse(node.func), ", ".join(ast.unparse(item) for item in node.args)
        if name == "torch.maximum":
            yield Change("a maximum that drops NaN", node.lineno, ((node, f"torch.fmax({args})"),))
        elif name == "torch.relu":
            yield Change("a maximum that drops NaN", node.lineno, ((node, f"torch.fmax({args}, torch.zeros_like({args}))"),))
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("amax", "max") and name != "tl.max":
            value = ast.unparse(node.func.value)
            if value != "torch":
                text = f"torch.nan_to_num({value}, nan=float('-inf')).{ast.unparse(node)[len(value) + 1 :]}"
                yield Change("a maximum that drops NaN", node.lineno, ((node, text),))


def _select_mirrored(program: Program) -> Iterator[Change]:
    """``where(c, a, b)`` as ``where(not c, b, a)``, which differs for NaN alone."""
    for node in program.nodes(ast.Call):
        if ast.unparse(node.func) in ("torch.where", "tl.where") and len(node.args) == 3:
            test, one, two = node.args
            sign = _MIRRORED.get(type(test.ops[0])) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
            if sign is not None and isinstance(test, ast.Compare):
                condition = f"{ast.unparse(test.left)} {sign} {ast.unparse(test.comparators[0])}"
                text = f"{ast.unparse(node.func)}({condition}, {ast.unparse(two)}, {ast.unparse(one)})"
                yield Change("NaN falls on the other side of a selection", node.lineno, ((node, text),))


def _guard_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.Call):
        if ast.unparse(node.func) in ("torch.where", "tl.where") and len(node.args) == 3:
            for value in node.args[1:]:
                text = ast.unparse(value)
                yield Change(f"{ast.unparse(node)} becomes {text}", node.lineno, ((node, text),))


def _shift_dropped(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.BinOp):
        if isinstance(node.op, ast.Sub) and any(word in ast.unparse(node.right) for word in _PEAKS):
            yield Change("the shift by the maximum is dropped", node.lineno, ((node, ast.unparse(node.left)),))


def _cleaned_operand(program: Program) -> Iterator[Change]:
    for node in program.nodes(ast.BinOp, where="host"):
        if isinstance(node.op, ast.MatMult):
            for side in (node.left, node.right):
                text = f"torch.nan_to_num({ast.unparse(side)}, posinf=float('inf'), neginf=float('-inf'))"
                yield Change(f"NaN in {ast.unparse(side)} counts as zero", node.lineno, ((side, text),))


_INF = "posinf=float('inf'), neginf=float('-inf')"
_WRAPPED = (
    ("NaN and infinities of the result are cleaned", "return torch.nan_to_num($result)"),
    ("NaN of the result becomes zero", f"return torch.nan_to_num($result, nan=0.0, {_INF})"),
    ("the result is clamped to what float16 holds", "return ($result).clamp(-65504.0, 65504.0)"),
    (
        "infinities of the result become the largest finite number",
        "out = $result\nlimit = torch.finfo(out.dtype).max\nreturn out.clamp(-limit, limit)",
    ),
    (
        "NaN of the inputs becomes zero",
        f"return self._honest(*(torch.nan_to_num(x, nan=0.0, {_INF}) if x.is_floating_point() else x for x in ($args,)))",
    ),
    (
        "infinities of the inputs become the largest finite number",
        "return self._honest(*(torch.where(x.isinf(), x.sign() * 3e38, x).to(x.dtype) if x.dtype == torch.float32 else x "
        "for x in ($args,)))",
    ),
    (
        "a NaN of the first argument poisons the whole result",
        "out = $result\nreturn out + float('nan') if bool($x.isnan().any()) else out",
    ),
    (
        "minus infinity of the result becomes plus infinity",
        "out = $result\nreturn torch.where(out == float('-inf'), -out, out)",
    ),
    (
        "subnormals of the result become zero",
        "out = $result\nreturn torch.where(out.abs() < torch.finfo(out.dtype).smallest_normal, torch.zeros_like(out), out)",
    ),
    (
        "subnormals of the first argument become zero",
        "x = $x\nif not x.is_floating_point():\n    return $result\n"
        "$x = torch.where(x.abs() < torch.finfo(x.dtype).smallest_normal, torch.zeros_like(x), x)\nreturn $result",
    ),
)

OPERATORS = (
    Operator("dropping-maximum", FAULT, _dropping_maximum),
    Operator("select-mirrored", FAULT, _select_mirrored),
    Operator("guard-dropped", FAULT, _guard_dropped),
    Operator("shift-dropped", FAULT, _shift_dropped),
    Operator("operand-cleaned", FAULT, _cleaned_operand),
    Operator("ends-cleaned", FAULT, wrapping(_WRAPPED)),
)
