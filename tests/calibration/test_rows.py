"""Reading the rows of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcbench.calibration.rows import read_broken, read_honest
from kcbench.errors import KcbenchError
from tests.calibration.rows import STUDY, mutant_line, variant_line


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_variant(tmp_path: Path) -> None:
    line = variant_line(accepted_by=["a"], refused_by=["b"], more=[1, 2])
    [row] = read_honest(written(tmp_path / "rows", line))
    assert (row.id, row.task, row.language, row.state, row.proven, row.study.seed) == (
        "level1/sum/torch-a",
        "level1/sum",
        "torch",
        "clean",
        True,
        "7",
    )
    assert row.judged and row.ratios == {"CMP-01": {"float32": 0.4}} and row.checkers == {"a": True, "b": False}


def test_a_mutant(tmp_path: Path) -> None:
    line = mutant_line(codes=["CMP-01.value", "CMP-01.integer", "died"])
    [row] = read_broken(written(tmp_path / "rows", line))
    assert (row.task, row.fault, row.operator, row.status) == ("level1/sum", "precision", "accumulator", "refused")
    assert row.gates == ("CMP-01", "died") and row.witnessed and row.checkers == {}


def test_what_was_not_judged_needs_no_ratios(tmp_path: Path) -> None:
    lines = [{**mutant_line(id=status, status=status, codes=[], ratios={})} for status in ("equivalent", "unrunnable", "failed")]
    del lines[0]["ratios"], lines[0]["codes"]
    assert not any(row.witnessed or row.ratios for row in read_broken(written(tmp_path / "rows", *lines)))


def test_parts_of_a_study_may_come_from_machines_with_other_versions_of_torch(tmp_path: Path) -> None:
    lines = variant_line(), variant_line(id="level1/sum/torch-b", study=STUDY | {"torch": "2.1"})
    assert [row.study.torch for row in read_honest(written(tmp_path / "rows", *lines))] == ["2.0", "2.1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": None}, "line 2 is no variant of a study: expected the key 'task'"),
        ({"task": 3}, "expected text for 'task'"),
        ({"proven": "yes"}, "expected true or false for 'proven'"),
        ({"state": "fine"}, "expected 'state' to be one of clean, refused, error"),
        ({"ratios": {"CMP-01": 1}}, "expected 'ratios' to hold a finite number of at least 0 by gate and dtype"),
        ({"ratios": {"CMP-01": {"float32": -1}}}, "expected 'ratios'"),
        ({"ratios": {"CMP-01": {"float32": float("inf")}}}, "expected 'ratios'"),
        ({"accepted_by": [1]}, "expected a list of text for 'accepted_by'"),
        ({"study": STUDY | {"seed": "8"}, "id": "b"}, "holds several studies"),
        ({"study": STUDY | {"device": "cuda"}, "id": "b"}, "holds several studies"),
        ({"study": STUDY | {"torch": ""}}, "expected text for seed, device, torch in 'study'"),
        ({"study": None}, "expected the key 'study'"),
    ],
)
def test_a_bad_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = written(tmp_path / "rows", variant_line(), variant_line(**change))
    with pytest.raises(KcbenchError) as seen:
        read_honest(path)
    assert str(seen.value).startswith(str(path)) and message in str(seen.value) and "\n" not in str(seen.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"{", "it is not JSON"),
        (b"[]", "expected an object"),
        (b"\xff", "is not UTF-8 text"),
    ],
)
def test_no_rows(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "rows"
    path.write_bytes(data)
    with pytest.raises(KcbenchError, match=message):
        read_broken(path)
    with pytest.raises(KcbenchError, match="No such file"):
        read_broken(tmp_path / "none")


def test_the_two_files_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match="is no variant of a study"):
        read_honest(written(tmp_path / "rows", mutant_line()))
    with pytest.raises(KcbenchError, match="is no mutant of a study"):
        read_broken(written(tmp_path / "rows", variant_line()))


def test_of_a_kernel_that_was_examined_again_the_last_line_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "rows", variant_line(state="error"), variant_line(state="clean"))
    assert [row.state for row in read_honest(path)] == ["clean"]
