"""Records in the log of a study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import Mutant, Subject  # noqa: E402
from kcbench.mutants.outcome import Outcome  # noqa: E402
from kcbench.mutants.planted import Planted  # noqa: E402
from kcbench.mutants.record import Record  # noqa: E402
from kcbench.mutants.terms import MutantTerms  # noqa: E402
from kcbench.mutants.witness import Witness  # noqa: E402
from kcbench.study.log import Log, Past  # noqa: E402
from kcbench.study.opinions import Opinions  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

TERMS = MutantTerms(seed="7", device="cpu", checkers=False, equivalents=False, every_gate=False)
SUBJECT = Subject("level1/relu/model", load_task("level1/relu"), "", "torch")
PLANTED = [Planted(SUBJECT, Mutant(f"m-{number}", "m", "index", number, "a fault", f"x = {number}\n")) for number in range(4)]
WITNESS = Witness("value", "output 0 errs", {"dim": 3}, "normal", "float32", 40.0)
RATIOS = {"CMP-01": {"float32": 31.5, "float16": 0.25}}
OPINIONS = Opinions(("kernelbench-v0",), ("kernelbench-v1", "four-distributions", "classic-bounds"))
RECORDS = [
    Record(PLANTED[0], Outcome(PLANTED[0].mutant, "refused", WITNESS, ("CMP-01.value",), (), RATIOS, OPINIONS), seconds=0.25),
    Record(PLANTED[1], Outcome(PLANTED[1].mutant, "survived", WITNESS), honest_codes=("CMP-03.shape",)),
    Record(PLANTED[2], Outcome(PLANTED[2].mutant, "failed", errors=("ORD-02: KeyError",))),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Log(tmp_path / "log.jsonl", TERMS) as log:
        for record in RECORDS:
            log.append(record)
    return tmp_path / "log.jsonl"


def test_what_is_written_is_read_back_without_what_failed(path: Path) -> None:
    past = Past(path, "mutant", MutantTerms)
    assert past.terms == TERMS
    assert past.records(PLANTED, Record.from_json) == RECORDS[:2]


def test_a_line_names_the_mutant_and_what_was_found(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["id"] for line in lines] == [item.id for item in PLANTED[:3]]
    assert lines[0]["subject"] == "level1/relu/model" and lines[0]["fault"] == "index"
    assert [line["ratios"] for line in lines] == [RATIOS, {}, {}]
    assert lines[0]["accepted_by"] == ["kernelbench-v0"] and "accepted_by" not in lines[1]


def test_only_survivors_have_their_source_in_it(path: Path) -> None:
    assert [json.loads(line).get("source") for line in path.read_text().splitlines()] == [None, "x = 1\n", None]


def test_a_checker_that_failed_is_a_failure() -> None:
    opinions = Opinions(failures={"kernelbench-v0": "KeyError: 'x'"})
    assert Record(PLANTED[0], Outcome(PLANTED[0].mutant, "refused", WITNESS, opinions=opinions)).failed
    assert not RECORDS[0].failed and RECORDS[2].failed
