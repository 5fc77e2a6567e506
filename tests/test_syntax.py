"""Text becomes trees in many threads at a time."""

from __future__ import annotations

import ast
import contextlib
import gc
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kcbench.syntax import compile_module, nobody_parses, parse_expression, parse_module

NESTED = "x = " + "(1 + " * 30 + "2" + ")" * 30 + "\n"


class Interrupting:
    """Garbage whose collection lets another thread run."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


@pytest.fixture
def interrupted() -> Iterator[None]:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("interrupted")
def test_threads_that_parse_at_a_time_do_not_disturb_each_other() -> None:
    """Of these calls of `ast.parse` itself, some end in a SystemError with CPython 3.11."""

    def work(_number: int) -> list[str]:
        found = []
        for _ in range(30):
            garbage = [Interrupting() for _ in range(20)]
            found.append(ast.dump(parse_module(NESTED * 40)))
            compile_module(parse_module(NESTED), "nested.py")
            del garbage
        return found

    with ThreadPoolExecutor(4) as pool:
        assert {text for texts in pool.map(work, range(4)) for text in texts} == {ast.dump(ast.parse(NESTED * 40))}


@pytest.mark.usefixtures("interrupted")
def test_threads_that_know_nothing_of_it_do_not_disturb_either() -> None:
    """Libraries parse in threads of their own; they may fail, and we may not."""
    done = threading.Event()

    def parse_as_they_do() -> None:
        while not done.is_set():
            garbage = [Interrupting() for _ in range(20)]
            with contextlib.suppress(SystemError):
                ast.parse(NESTED * 40)
            del garbage

    others = [threading.Thread(target=parse_as_they_do) for _ in range(3)]
    for other in others:
        other.start()
    try:
        for _ in range(60):
            garbage = [Interrupting() for _ in range(20)]
            assert len(parse_module(NESTED * 40).body) == 40
            del garbage
    finally:
        done.set()
        for other in others:
            other.join()


def test_nobody_of_us_parses_while_a_library_does() -> None:
    started, parsed = threading.Event(), threading.Event()

    def parse() -> None:
        started.set()
        parse_module(NESTED)
        parsed.set()

    with nobody_parses():
        thread = threading.Thread(target=parse)
        thread.start()
        assert started.wait(10) and not parsed.wait(0.2)
    assert parsed.wait(10)
    thread.join()


def test_what_is_no_python_says_where() -> None:
    with pytest.raises(SyntaxError) as seen:
        parse_module("x = (", "there.py")
    assert seen.value.filename == "there.py"
    assert isinstance(parse_expression("1 + 2"), ast.BinOp)
