"""Counts by fault class."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import Mutant  # noqa: E402
from kcbench.mutants.outcome import Outcome  # noqa: E402
from kcbench.mutants.tally import tally  # noqa: E402
from kcbench.report.proportion import Proportion  # noqa: E402


def outcomes(fault: str, **counts: int) -> list[Outcome]:
    mutant = Mutant("m-1", "m", fault, 1, "", "")
    return [Outcome(mutant, status) for status, count in counts.items() for _ in range(count)]


def test_counts_and_detection() -> None:
    found = tally([*outcomes("shape", refused=9, survived=1, equivalent=2, failed=1), *outcomes("index", unrunnable=3)])
    assert list(found) == ["index", "shape", "all"]
    shape, index, total = found["shape"], found["index"], found["all"]
    assert (shape.made, shape.unrunnable, shape.equivalent, shape.refused, shape.survived) == (13, 0, 2, 9, 1)
    assert shape.detection == total.detection == Proportion(9, 10)
    assert (index.made, index.unrunnable, index.detection) == (3, 3, Proportion(0, 0))
    assert (total.made, total.refused, total.survived) == (16, 9, 1)


def test_of_nothing() -> None:
    assert list(tally([])) == ["all"] and tally([])["all"].made == 0
