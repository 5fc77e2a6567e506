"""Sizes as module constants: KernelBench-format source rewritten so that every size in it can be set by name.

A *site* is an integer literal from which the problem makes its sizes: at module level, in ``get_inputs`` or in
``get_init_inputs``. Constants that have a name keep it; the others are given one. What the code computes stays the same.
"""

from __future__ import annotations

import ast
import itertools
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from kcbench.errors import KcbenchError
from kcbench.syntax import parse_module

_GENERATORS = ("get_inputs", "get_init_inputs")
_NOT_SIZES = frozenset({"dim", "axis", "dims", "diagonal", "keepdim", "start_dim", "end_dim", "seed"})
"""Names of arguments and constants that count dimensions, not elements, where they are small."""
_MOST_DIMENSIONS = 8

_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True)
class Sites:
    """A problem whose sizes are named constants."""

    code: str
    constants: dict[str, int]
    """Values by name, in the order of the source; at least one, so that a contract can name an axis."""


def find_sites(code: str, *, where: str) -> Sites:
    """Name the sizes of a problem.

    Args:
        code: KernelBench-format source text; it is not run.
        where: What the source is called in messages.

    Raises:
        KcbenchError: The source cannot be parsed.
    """
    try:
        tree, table = parse_module(code), symtable.symtable(code, where, "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise KcbenchError(f"cannot be parsed: {error}", where=where) from error
    lifter = _Lifter(_identifiers(tree))
    pinned = _read_by_models(tree, table) | _assigned_again(tree)
    body: list[ast.stmt] = []
    constants: dict[str, int] = {}
    single = list(_single_assignments(tree.body))
    changed = single != tree.body
    for node in single:
        before = len(lifter.lifted)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, integer(node.value)
            if value is not None or name in pinned:
                if value is not None and name not in pinned and (name not in _NOT_SIZES or value > _MOST_DIMENSIONS):
                    constants[name] = value
            else:
                node.value = lifter.within(name, node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in _GENERATORS:
            prefix = "input" if node.name == "get_inputs" else "init"
            node.body = [lifter.within(prefix, statement) for statement in node.body]
        for name, value in list(lifter.lifted.items())[before:]:
            changed = True
            constants[name] = value
            body.append(parse_module(f"{name} = {value}").body[0])
        body.append(node)
    if not constants:
        changed, constants = True, {lifter.new("unit_{}"): 1}
        body += parse_module("".join(f"{name} = {value}" for name, value in constants.items())).body
    if not changed:
        return Sites(code, constants)
    tree.body = body
    return Sites(ast.unparse(ast.fix_missing_locations(tree)) + "\n", constants)


def _identifiers(tree: ast.Module) -> set[str]:
    """Every name that the code uses for anything, so that new ones are new."""
    found = {"self"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return found


def _assigned_again(tree: ast.Module) -> set[str]:
    """Names of the module that one number does not describe: assigned anew after they were read, or from what they were."""
    seen: set[str] = set()
    read: set[str] = set()
    again: set[str] = set()
    for node in _single_assignments(_statements(tree)):
        stored = {name.id for name in _names(node) if isinstance(name.ctx, ast.Store)}
        plain = isinstance(node, ast.Assign) and integer(node.value) is not None
        again |= {name for name in stored & seen if name in read or not plain}
        seen |= stored
        read |= {name.id for name in _names(node) if isinstance(name.ctx, ast.Load)}
    return again


def _read_by_models(tree: ast.Module, table: symtable.SymbolTable) -> set[str]:
    """Names that classes read from the module, at first hand or through functions and other constants.

    A submission has constants of its own there, which do not move.
    """
    sources: dict[str, set[str]] = {}
    for node in _statements(tree):
        names = _names(node)
        for target in names:
            if isinstance(target.ctx, ast.Store):
                sources.setdefault(target.id, set()).update(other.id for other in names)
    scopes = [scope for scope in table.get_children() if scope.get_name() not in _GENERATORS]
    for scope in scopes:
        sources.setdefault(scope.get_name(), set()).update(_taken_from_module(scope))
    todo = [scope.get_name() for scope in scopes if scope.get_type() == "class"]
    read: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in read:
            read.add(name)
            todo += sources.get(name, ())
    return read


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """What runs at import, without functions and classes."""
    return [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]


def _names(node: ast.AST) -> list[ast.Name]:
    return [name for name in ast.walk(node) if isinstance(name, ast.Name)]


def _taken_from_module(scope: symtable.SymbolTable) -> Iterator[str]:
    """Names that a scope, and those inside it, take from the module."""
    yield from (symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global())
    for inner in scope.get_children():
        yield from _taken_from_module(inner)


def _single_assignments(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with ``depth, height = 16, 32`` and ``height = width = 32`` taken apart where that changes nothing."""
    for node in body:
        several: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign) and len(node.targets) > 1:
            several, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign):
            several, value = [node.target], node.value
        if value is not None and integer(value) is not None and all(isinstance(name, ast.Name) for name in several):
            yield from (ast.copy_location(ast.Assign([name], value), node) for name in several)
            continue
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            names, values = node.targets[0].elts, getattr(node.value, "elts", [])
            constants = all(isinstance(value, ast.Constant) for value in values)
            if constants and len(names) == len(values) and all(isinstance(name, ast.Name) for name in names):
                for name, value in zip(names, values, strict=True):
                    yield ast.copy_location(ast.Assign([name], value), node)
                continue
        yield node


def integer(node: ast.expr) -> int | None:
    """The value of an integer literal, or of a product, sum or power of such; None for anything else."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = integer(node.left), integer(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.FloorDiv) and right:
            return left // right
        if isinstance(node.op, ast.Pow) and 0 <= right <= 64:
            return int(left**right)
    return None


class _Lifter(ast.NodeTransformer):
    """Replaces integer literals by new constants."""

    def __init__(self, taken: set[str]) -> None:
        self.lifted: dict[str, int] = {}
        self._taken = taken
        self._prefix = ""

    def within(self, prefix: str, node: _Node) -> _Node:
        self._prefix = prefix
        visited: _Node = self.visit(node)
        return visited

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value = self.visit(node.value)
        return node  # What is in the brackets is an index, not a size.

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return node if isinstance(node.op, ast.USub) else self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return node if node.arg in _NOT_SIZES else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        # Arguments of methods on tensors count dimensions; a draw of integers has bounds, which are sizes where they are named.
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in ("randint", "transpose", "permute", "unsqueeze", "squeeze", "softmax", "triu", "tril", "manual_seed"):
            node.func = self.visit(node.func)
            node.args = [item if isinstance(item, ast.Constant) else self.visit(item) for item in node.args]
            node.keywords = [item if isinstance(item.value, ast.Constant) else self.visit(item) for item in node.keywords]
            return node
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        value = integer(node)
        return self._name(value, node) if value is not None else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._name(node.value, node) if type(node.value) is int else node

    def _name(self, value: int, node: ast.expr) -> ast.AST:
        if value < 2:
            return node
        name = self.new(re.sub(r"\W", "_", self._prefix) + "_{}")
        self.lifted[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def new(self, pattern: str) -> str:
        """A name that the code does not use: the pattern with the first number that makes it new."""
        name = next(name for number in itertools.count() if (name := pattern.format(number)) not in self._taken)
        self._taken.add(name)
        return name
