"""What a study found is on disk as soon as it is known, and can be gone on with."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kcbench.errors import KcbenchError  # noqa: E402
from kcbench.mutants import Mutant, Subject  # noqa: E402
from kcbench.mutants.log import Log, Past, Terms  # noqa: E402
from kcbench.mutants.outcome import Outcome  # noqa: E402
from kcbench.mutants.planted import Planted  # noqa: E402
from kcbench.mutants.record import Record  # noqa: E402
from kcbench.mutants.witness import Witness  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

TERMS = Terms("7", "cpu", False)
SUBJECT = Subject("level1/relu/model", load_task("level1/relu"), "", "torch")
PLANTED = [Planted(SUBJECT, Mutant(f"m-{number}", "m", "index", number, "a fault", f"x = {number}\n")) for number in range(4)]
WITNESS = Witness("value", "output 0 errs", {"dim": 3}, "normal", "float32", 40.0)
RECORDS = [
    Record(PLANTED[0], Outcome(PLANTED[0].mutant, "refused", WITNESS, ("CMP-01.value",)), seconds=0.25),
    Record(PLANTED[1], Outcome(PLANTED[1].mutant, "survived", WITNESS), honest_codes=("CMP-03.shape",)),
    Record(PLANTED[2], Outcome(PLANTED[2].mutant, "failed", errors=("ORD-02: KeyError",))),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Log(tmp_path / "log.jsonl", TERMS) as log:
        for number, record in enumerate(RECORDS, 1):
            log.append(record)
            assert (tmp_path / "log.jsonl").read_text().count("\n") == number
    return tmp_path / "log.jsonl"


def test_what_is_written_is_read_back_without_what_failed(path: Path) -> None:
    past = Past(path)
    assert past.terms == TERMS
    assert past.records(PLANTED) == RECORDS[:2]


def test_others_are_left_out(path: Path) -> None:
    assert Past(path).records(PLANTED[1:]) == RECORDS[1:2]


def test_only_survivors_have_their_source_in_it(path: Path) -> None:
    assert [json.loads(line).get("source") for line in path.read_text().splitlines()] == [None, "x = 1\n", None]


def test_the_last_word_counts(path: Path) -> None:
    better = Record(PLANTED[2], Outcome(PLANTED[2].mutant, "equivalent"))
    with Log(path, TERMS) as log:
        log.append(better)
    assert Past(path).records(PLANTED) == [*RECORDS[:2], better]


@pytest.mark.parametrize("left", [1, 5, 60])
def test_a_torn_last_line_is_cut_off(path: Path, left: int) -> None:
    text = path.read_bytes()
    start = text.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(text[: start + left])
    assert Past(path).records(PLANTED) == RECORDS[:2]
    assert path.read_bytes() == text[:start]


@pytest.mark.parametrize("text", ['{"results": []}\n', "what I wrote\nfor a month", "what I wrote for a month", "[1]\n", "\n"])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    with pytest.raises(KcbenchError, match="is no mutant of a study"):
        Past(path)
    assert path.read_text() == text


def test_an_empty_file_is_a_beginning(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    assert Past(tmp_path / "log").terms is None and Past(tmp_path / "log").records(PLANTED) == []


def test_studies_are_not_mixed(path: Path) -> None:
    with Log(path, dataclasses.replace(TERMS, seed="8")) as log:
        log.append(RECORDS[0])
    with pytest.raises(KcbenchError, match="several studies"):
        Past(path)


def test_a_line_that_lacks_something(path: Path) -> None:
    path.write_text(path.read_text().replace('"codes"', '"cods"'))
    with pytest.raises(KcbenchError, match=r"level1/relu/model/m-0 is incomplete"):
        Past(path).records(PLANTED)
