"""Which variants a study takes."""

from __future__ import annotations

from collections import Counter

import pytest

from kcbench.ensemble import all_variants, study_tasks
from kcbench.ensemble.choice import fitting, shared_out
from kcbench.errors import KcbenchError

ALL = list(all_variants())


def test_equal_shares_of_languages_and_of_tasks_within_them() -> None:
    found = list(shared_out(ALL, 2 * len(study_tasks()), "1"))
    assert set(Counter((variant.task, variant.language) for variant in found).values()) == {1}
    assert Counter(variant.language for variant in shared_out(ALL, 7, "1")) == {"torch": 4, "triton": 3}


def test_all_of_them_each_once() -> None:
    assert sorted(variant.id for variant in shared_out(ALL, len(ALL), "1")) == sorted(variant.id for variant in ALL)


def test_the_seed_decides() -> None:
    draws = [[variant.id for variant in shared_out(ALL, 10, seed)] for seed in ("1", "1", "2")]
    assert draws[0] == draws[1] != draws[2]


def test_fitting() -> None:
    assert fitting() == ALL
    relu = fitting("level1/relu", language="triton")
    assert relu and {(variant.task, variant.language) for variant in relu} == {("level1/relu", "triton")}
    assert {variant.task for variant in fitting(only="relu/t")} == {"level1/relu"}
    assert fitting(only="nothing has this") == []
    with pytest.raises(KcbenchError, match="no variant of 'level1/nothing'"):
        fitting("level1/nothing")


def test_a_whole_id_stands_for_itself_alone() -> None:
    short = next(v for v in ALL if any(other.id != v.id and other.id.startswith(v.id) for other in ALL))
    assert fitting(only=short.id) == [short]
    assert len(fitting(only=short.id[:-1])) > 1
