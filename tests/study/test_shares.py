"""Some of many things, drawn so that no kind of them is forgotten."""

from __future__ import annotations

from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from kcbench.study.shares import shared_out  # noqa: E402

THINGS = [("a", "x", number) for number in range(20)] + [("a", "y", 0), ("b", "x", 0), ("b", "x", 1)]


def drawn(limit: int, seed: str = "1") -> list[tuple[str, str, int]]:
    return list(shared_out(THINGS, limit, seed, kind=lambda thing: thing[:2]))


def test_kinds_then_sorts_in_turn() -> None:
    found = drawn(7)
    assert [thing[:2] for thing in found[:4]] == [("a", "x"), ("b", "x"), ("a", "y"), ("b", "x")]
    # What is short is followed by more of what is not.
    assert Counter(thing[0] for thing in found) == {"a": 5, "b": 2}


def test_each_once_and_no_more_than_there_are() -> None:
    assert sorted(drawn(1000)) == sorted(THINGS)
    assert drawn(0) == []


def test_the_seed_decides() -> None:
    assert drawn(5) == drawn(5)
    assert len({tuple(drawn(5, seed)) for seed in "12345"}) > 1
