"""Sizes: a task's own (benchmark) sizes, read from its source text without running it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from kcbench.domain.contract import Contract, Input, evaluate_size
from kcbench.syntax import parse_module

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
}


def benchmark_sizes(code: str) -> dict[str, int]:
    """The module constants of a task that are whole numbers, or arithmetic over such constants.

    Args:
        code: Source text of ``task.py``.

    Returns:
        Value by name; other constants are left out.

    Raises:
        SyntaxError: The text is not Python.
    """
    sizes: dict[str, int] = {}
    for node in parse_module(code).body:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        number = None if value is None else _number(value, sizes)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if number is not None:
            sizes.update({target.id: number for target in targets if isinstance(target, ast.Name)})
    return sizes


def _number(node: ast.expr, known: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _number(node.left, known), _number(node.right, known)
        if left is None or right is None or (right <= 0 and isinstance(node.op, (ast.FloorDiv, ast.LShift))) or right > 1 << 40:
            return None
        return _OPERATORS[type(node.op)](left, right) if not isinstance(node.op, ast.LShift) or right < 64 else None
    return None


def shape_line(item: Input, sizes: Mapping[str, int]) -> str:
    """An input with its dimensions: ``x: float[batch_size=16, 2*heads=8, 64]``; ``alpha: scalar = 2.0``.

    Args:
        item: The input.
        sizes: Benchmark sizes by axis; a dimension without one is given by its name alone.
    """
    if item.kind == "scalar":
        return f"{item.name}: scalar = {item.value}"
    dims = ", ".join(_dimension(size, sizes) for size in item.shape)
    bound = f" < {_dimension(item.bound, sizes)}" if item.bound is not None else ""
    return f"{item.name}: {item.kind}[{dims}]{bound}"


def _dimension(size: str | int, sizes: Mapping[str, int]) -> str:
    try:
        return str(size) if isinstance(size, int) else f"{size}={evaluate_size(size, sizes)}"
    except KeyError:
        return str(size)


def shape_lines(contract: Contract, code: str) -> list[str]:
    """:func:`shape_line` of each input of a task."""
    sizes = benchmark_sizes(code)
    return [shape_line(item, sizes) for item in contract.inputs]
