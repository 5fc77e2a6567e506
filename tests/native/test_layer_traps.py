"""Every trap of the emulator is sprung by a small kernel, with its name and on the line that is to blame, under every schedule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .layer_library import HERE, library

SOURCE = (HERE / "traps.inc").read_text(encoding="utf-8").splitlines()
TRAP_H = Path(__file__).parents[2] / "native_kernels/gdn/tensor/emulated/trap.h"
AT_EXIT = {"alloc-leak"}


def _expected() -> dict[str, list[tuple[int, str]]]:
    """By kernel: the lines marked with traps that may be named there, and those traps."""
    found: dict[str, list[tuple[int, str]]] = {}
    current: list[tuple[int, str]] = []
    for number, line in enumerate(SOURCE, 1):
        if case := re.match(r"CASE\((\w+)\)", line):
            current = found.setdefault(case[1], [])
        if mark := re.search(r"// ([a-z0-9-]+)((?: or [a-z0-9-]+)*)(?: \(.*\))?$", line):
            for name in (mark[1] + mark[2]).split(" or "):
                if name in NAMES:
                    current.append((0 if name in AT_EXIT else number, name))
    return found


NAMES = [name for name in re.findall(r'^\s+"([a-z0-9-]+)",', TRAP_H.read_text(encoding="utf-8"), re.M) if name != "none"]
EXPECTED = _expected()


def test_every_trap_has_a_kernel_that_springs_it() -> None:
    assert len(NAMES) == 28
    assert set(NAMES) == {name for marks in EXPECTED.values() for _, name in marks}


@pytest.mark.parametrize("case", EXPECTED)
def test_trap(case: str) -> None:
    assert EXPECTED[case], "no line of the kernel is marked"
    for schedule, seed in (("eager", 0), ("late", 0), ("random", 1), ("random", 2), ("random", 3)):
        outcome, _ = library().run(case, schedule, seed)
        assert (outcome.line, outcome.trap) in EXPECTED[case], (schedule, seed, outcome)
        assert outcome.message
        if outcome.line:
            assert outcome.file.endswith("traps.inc")
            assert 0 <= outcome.thread < 128


def test_a_trap_leaves_the_process_and_later_launches_alone() -> None:
    for _ in range(3):
        first, _ = library().run("no_proxy_fence")
        second, _ = library().run("columns_of_nobody")
        assert (first.trap, second.trap) == ("missing-proxy-fence", "columns-not-allocated")
