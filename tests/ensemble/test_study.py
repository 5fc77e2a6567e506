"""Variants examined by processes."""

from __future__ import annotations

import dataclasses
import multiprocessing

import pytest

from kcbench.ensemble import variants
from kcbench.ensemble.examiner import Examiner
from kcbench.ensemble.record import Record
from kcbench.ensemble.study import run_study
from kcbench.study import HERE

SEED = "study"


def facts(records: list[Record]) -> dict[str, Record]:
    return {record.id: dataclasses.replace(record, seconds=0.0) for record in records}


@pytest.mark.slow
def test_two_processes_come_to_what_this_one_comes_to() -> None:
    some = [next(iter(variants(task))) for task in ("level1/relu", "level1/softmax")]
    with Examiner(HERE, seed=SEED) as examiner:
        here = [examiner.examine(variant) for variant in some]
    there = list(run_study(some, seed=SEED, jobs=2))
    assert facts(there) == facts(here) and set(facts(there)) == {variant.id for variant in some}
    assert all(record.proof.proven and record.state == "clean" for record in there)
    assert not multiprocessing.active_children()
