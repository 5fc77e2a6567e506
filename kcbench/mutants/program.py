"""Program: a kernel's source as a syntax tree, with what mutation operators ask of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeVar

from kcbench.mutants.change import Change
from kcbench.syntax import parse_expression, parse_module

N = TypeVar("N", bound=ast.AST)
Function = ast.FunctionDef
ENTRY = "ModelNew"


class Program:
    """A kernel as operators see it. The tree is what it was after :meth:`mutated`; not for use by several threads.

    Args:
        source: Text that parses.
    """

    def __init__(self, source: str) -> None:
        self.tree = parse_module(source)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.functions = [node for node in ast.walk(self.tree) if isinstance(node, Function)]
        self.kernels = [node for node in self.functions if any("jit" in ast.unparse(item) for item in node.decorator_list)]
        self._ran = [node for function in self.functions for node in self._body(function)]
        inside = {id(node) for kernel in self.kernels for node in ast.walk(kernel)}
        self._in_kernel = inside

    def _body(self, function: Function) -> Iterator[ast.AST]:
        """What runs when the function is called: no annotations, no docstrings, no call of the parent's constructor."""
        for statement in function.body:
            if isinstance(statement, Function) or _says_nothing(statement):
                continue
            yield from _without_functions(statement)

    def nodes(self, kind: type[N], *, where: str = "any") -> Iterator[N]:
        """The nodes of a kind that run, in the order of the source.

        Args:
            kind: Node class.
            where: ``kernel`` (Triton functions), ``host`` (all others) or ``any``.
        """
        for node in self._ran:
            if isinstance(node, kind) and (where == "any" or (id(node) in self._in_kernel) == (where == "kernel")):
                yield node

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node."""
        return self._parents.get(node)

    def inside(self, node: ast.AST, kind: type[N]) -> N | None:
        """The nearest node of a kind around a node."""
        around = self.parent(node)
        while around is not None and not isinstance(around, kind):
            around = self.parent(around)
        return around

    @property
    def forward(self) -> Function | None:
        """The method ``forward`` of the entry class; None where it has none of its own."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == ENTRY:
                return next((item for item in node.body if isinstance(item, Function) and item.name == "forward"), None)
        return None

    def mutated(self, change: Change) -> str:
        """The source text after a change.

        Args:
            change: Of this program's nodes.

        Raises:
            SyntaxError: The text of an edit cannot be parsed.
        """
        # Copying the tree would cost ten times as much as the text does.
        undo = [_replace(self._parents[node], node, text) for node, text in change.edits]
        try:
            body = list(self.tree.body)
            if change.prelude:
                after = next((i for i, item in enumerate(body) if not isinstance(item, ast.Import | ast.ImportFrom)), 0)
                body[after:after] = parse_module(change.prelude).body
            return ast.unparse(ast.Module(body, [])) + "\n"
        finally:
            for restore in reversed(undo):
                restore()


def _says_nothing(statement: ast.stmt) -> bool:
    """A docstring, or the constructor of the parent class."""
    if not isinstance(statement, ast.Expr):
        return False
    return isinstance(statement.value, ast.Constant) or ast.unparse(statement).startswith("super().__init__")


def _without_functions(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, except for nested functions, which are listed on their own, and annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, Function):
                yield from _without_functions(child)


def _replace(parent: ast.AST, node: ast.AST, text: str) -> Callable[[], None]:
    """Put parsed text in the place of a child; returns what undoes it."""
    for name, value in ast.iter_fields(parent):
        if value is node:
            setattr(parent, name, parse_expression(text))
            return lambda: setattr(parent, name, node)
        if isinstance(value, list) and any(item is node for item in value):
            place = next(i for i, item in enumerate(value) if item is node)
            new = parse_module(text).body if isinstance(node, ast.stmt) else [parse_expression(text)]
            setattr(parent, name, [*value[:place], *new, *value[place + 1 :]])
            return lambda: setattr(parent, name, value)
    raise ValueError("the node is no child of its parent")
