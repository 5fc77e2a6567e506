"""A function in a fork: its answer comes back, and nothing else does."""

from __future__ import annotations

import os
import signal
import time

import pytest

from kcbench.study.isolated import Died, isolated


def test_the_answer_comes_back() -> None:
    assert isolated(lambda: {"codes": ["EXC-01.absorbed"], "excess": 2.5}, seconds=20) == {
        "codes": ["EXC-01.absorbed"],
        "excess": 2.5,
    }


def test_an_answer_that_fills_the_pipe_many_times_comes_back_whole() -> None:
    assert isolated(lambda: "x" * 1_000_000, seconds=20) == "x" * 1_000_000


def test_what_it_changes_stays_there() -> None:
    cache = {"kept": 1}
    assert isolated(lambda: cache.pop("kept"), seconds=20) == 1
    assert cache == {"kept": 1}


def test_a_signal_that_ends_it_is_told() -> None:
    assert isolated(lambda: os.kill(os.getpid(), signal.SIGSEGV), seconds=20) == Died("killed by signal 11")


def test_leaving_without_an_answer_is_told() -> None:
    assert isolated(lambda: os._exit(3), seconds=20) == Died("exited")


def test_an_endless_function_is_ended() -> None:
    start = time.monotonic()
    assert isolated(lambda: time.sleep(60), seconds=0.1) == Died("no answer within 0.1 s")
    assert isolated(lambda: sum(iter(int, 1)), seconds=1) == Died("no answer within 1 s")
    assert time.monotonic() - start < 20


def test_its_exception_is_the_callers() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        isolated(lambda: 1 // 0, seconds=20)


def test_memory_is_limited() -> None:
    with pytest.raises(RuntimeError, match="MemoryError"):
        isolated(lambda: len(bytearray(8 << 30)), seconds=20)
