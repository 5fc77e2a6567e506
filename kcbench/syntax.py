"""Syntax: source text to syntax trees and to code, in one thread at a time.

CPython before 3.12 counts the depth of a tree once for all threads (its issue 106905). Where two parse at a time and one is
interrupted, by the collection of garbage for example, both may end in a SystemError. Our own threads take turns; libraries that
parse in others know nothing of that, so that what ends so is tried again.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import TypeVar

T = TypeVar("T")

_LOCK = threading.RLock()
"""One that the same thread may take again: what is collected while it parses may parse as well."""
_TRIES = 100
"""Of one text: a try that fails is not a fault of the text, and the next one hardly ever does."""


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
    return _tried(lambda: ast.parse(source, filename))  # noqa: TID251


def parse_expression(source: str) -> ast.expr:
    """An expression's syntax tree. Raises what :func:`parse_module` raises."""
    return _tried(lambda: ast.parse(source, mode="eval").body)  # noqa: TID251


def compile_module(code: str | ast.Module, path: str) -> CodeType:
    """A module's code. Raises what :func:`parse_module` raises.

    Args:
        code: Its text or its tree.
        path: What tracebacks name.
    """
    return _tried(lambda: compile(code, path, "exec"))


def parse_literal(source: str) -> object:
    """The value of a literal. Raises what :func:`parse_module` raises, a ValueError for any other expression too."""
    return _tried(lambda: ast.literal_eval(source))


@contextmanager
def nobody_parses() -> Iterator[None]:
    """Keep our own threads from parsing while a library does, as some do when they are imported."""
    with _LOCK:
        yield


def _tried(make: Callable[[], T]) -> T:
    for _ in range(_TRIES - 1):
        try:
            with _LOCK:
                return make()
        except SystemError:  # Somebody else's thread parsed meanwhile.
            continue
    with _LOCK:
        return make()
