"""What a study found is on disk as soon as it is known, and can be gone on with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kcbench.errors import KcbenchError  # noqa: E402
from kcbench.study.log import Log, Past  # noqa: E402
from kcbench.study.terms import Terms  # noqa: E402


@dataclass(frozen=True)
class Kernel:
    id: str
    task: str = "level1/relu"
    group: str = "level1/relu/model"
    language: str = "torch"


@dataclass(frozen=True)
class Found:
    job: Kernel
    said: str
    failed: bool = False
    seconds: float = 0.25

    @property
    def id(self) -> str:
        return self.job.id

    def to_json(self) -> dict[str, Any]:
        return {"said": self.said, "failed": self.failed}


@dataclass(frozen=True, kw_only=True)
class MoreTerms(Terms):
    more: bool


def read(data: Mapping[str, Any], job: Kernel) -> Found:
    return Found(job, data["said"], data["failed"])


TERMS = Terms(seed="7", device="cpu", checkers=False)
JOBS = [Kernel(f"level1/relu/model/m-{number}") for number in range(4)]
RECORDS = [Found(JOBS[0], "refused"), Found(JOBS[1], "survived"), Found(JOBS[2], "failed", failed=True)]


def past(path: Path) -> Past[Terms]:
    return Past(path, "mutant", Terms)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Log(tmp_path / "log.jsonl", TERMS) as log:
        for number, record in enumerate(RECORDS, 1):
            log.append(record)
            assert (tmp_path / "log.jsonl").read_text().count("\n") == number
    return tmp_path / "log.jsonl"


def test_what_is_written_is_read_back_without_what_failed(path: Path) -> None:
    assert past(path).terms == TERMS
    assert past(path).records(JOBS, read) == RECORDS[:2]


def test_others_are_left_out(path: Path) -> None:
    assert past(path).records(JOBS[1:], read) == RECORDS[1:2]


def test_the_last_word_counts(path: Path) -> None:
    better = Found(JOBS[2], "equivalent")
    with Log(path, TERMS) as log:
        log.append(better)
    assert past(path).records(JOBS, read) == [*RECORDS[:2], better]


@pytest.mark.parametrize("left", [1, 5, 60])
def test_a_torn_last_line_is_cut_off(path: Path, left: int) -> None:
    text = path.read_bytes()
    start = text.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(text[: start + left])
    assert past(path).records(JOBS, read) == RECORDS[:2]
    assert path.read_bytes() == text[:start]


@pytest.mark.parametrize("text", ['{"results": []}\n', "what I wrote\nfor a month", "what I wrote for a month", "[1]\n", "\n"])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    with pytest.raises(KcbenchError, match="is no mutant of a study"):
        past(path)
    assert path.read_text() == text


def test_an_empty_file_is_a_beginning(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    assert past(tmp_path / "log").terms is None and past(tmp_path / "log").records(JOBS, read) == []


def test_studies_are_not_mixed(path: Path) -> None:
    with Log(path, dataclasses.replace(TERMS, seed="8")) as log:
        log.append(RECORDS[0])
    with pytest.raises(KcbenchError, match="several studies"):
        past(path)


def test_kinds_of_studies_are_not_mixed(path: Path) -> None:
    with pytest.raises(KcbenchError, match="line 1 is no variant of a study"):
        Past(path, "variant", MoreTerms)
    text = path.read_text()
    path.write_text(text.replace('"study": {', '"study": {"more": true, '))
    assert Past(path, "variant", MoreTerms).records(JOBS, read) == RECORDS[:2]
    with pytest.raises(KcbenchError, match="line 1 is no mutant of a study"):
        past(path)


def test_a_line_that_lacks_something(path: Path) -> None:
    path.write_text(path.read_text().replace('"said"', '"sad"'))
    with pytest.raises(KcbenchError, match=r"level1/relu/model/m-0 is incomplete"):
        past(path).records(JOBS, read)
