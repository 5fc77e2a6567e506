"""Syntax: source text to syntax trees and to code, in one thread at a time.

CPython before 3.12 counts the depth of a tree once for all threads (its issue 106905). Where two parse at a time and one is
interrupted, by the collection of garbage for example, both may end in a SystemError.
"""

from __future__ import annotations

import ast
import threading
from types import CodeType

_LOCK = threading.RLock()
"""One that the same thread may take again: what is collected while it parses may parse as well."""


def parse_module(source: str, filename: str = "<unknown>") -> ast.Module:
    """A module's syntax tree.

    Args:
        source: Its text.
        filename: What a SyntaxError names.

    Raises:
        SyntaxError: It is not Python.
        ValueError: It holds a null character.
        RecursionError: It is nested too deeply.
        MemoryError: Likewise.
    """
    with _LOCK:
        return ast.parse(source, filename)  # noqa: TID251


def parse_expression(source: str) -> ast.expr:
    """An expression's syntax tree. Raises what :func:`parse_module` raises."""
    with _LOCK:
        return ast.parse(source, mode="eval").body  # noqa: TID251


def compile_module(code: str | ast.Module, path: str) -> CodeType:
    """A module's code. Raises what :func:`parse_module` raises.

    Args:
        code: Its text or its tree.
        path: What tracebacks name.
    """
    with _LOCK:
        return compile(code, path, "exec")


def parse_literal(source: str) -> object:
    """The value of a literal. Raises what :func:`parse_module` raises, a ValueError for any other expression too."""
    with _LOCK:
        return ast.literal_eval(source)
