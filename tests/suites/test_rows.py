"""JSON Lines: each row brings a problem and a kernel for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.domain.schema import validate
from kcbench.errors import KcbenchError
from kcbench.suites.rows import Fields, read_row, read_rows

REF = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
OTHER = REF.replace("pass", "x = 1")
KERNEL = "class ModelNew: pass\n"
PLAIN = Fields("ref", "code")
WITH_IDS = Fields("ref", "code", "level", "problem")
FULL = Fields("ref", "code", "level", "problem", "sample")


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def row(ref: str = REF, code: Any = KERNEL, **more: Any) -> dict[str, Any]:
    return {"ref": ref, "code": code, **more}


def test_rows_without_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", row(), "", row(OTHER), row(code=f"{KERNEL}x = 1\n"))
    found, problems = read_rows(path, PLAIN)
    assert [(item.id, item.path, item.problem) for item in found] == [
        ("row-000001", f"{path}:1", ""),
        ("row-000003", f"{path}:3", ""),
        ("row-000004", f"{path}:4", ""),
    ]
    # Equal problems are one, and are numbered as they come.
    assert [(item.origin["level"], item.origin["problem_id"], item.origin["sample_id"]) for item in found] == [
        (None, 1, 0),
        (None, 2, 0),
        (None, 1, 1),
    ]
    assert found[0].task == found[2].task != found[1].task
    assert {name: problem.code for name, problem in problems.items()} == {found[0].task: REF, found[1].task: OTHER}
    assert found[0].task.startswith("problem/text-")
    for item in found:
        validate(item.to_json(), "submission", source=item.id)


def test_rows_with_ids(tmp_path: Path) -> None:
    rows = [row(level=1, problem="7", sample=3), row(OTHER, level="level_2", problem=7), row(level=1, problem=7)]
    found, problems = read_rows(write(tmp_path / "rows.jsonl", *rows), FULL)
    assert [item.task for item in found] == ["level1/7", "level2/7", "level1/7"]
    assert [tuple(item.origin.values())[1:] for item in found] == [(1, 7, 3), (2, 7, 0), (1, 7, 0)]
    assert [(problem.level, problem.problem_id) for problem in problems.values()] == [(1, 7), (2, 7)]


def test_two_texts_with_one_id_are_two_problems(tmp_path: Path) -> None:
    found, problems = read_rows(write(tmp_path / "r", row(level=1, problem=1), row(OTHER, level=1, problem=1)), WITH_IDS)
    assert found[0].task == "level1/1"
    assert found[1].task.startswith("level1/1-") and len(problems) == 2
    # They share an id, so their kernels are samples of it.
    assert [item.origin["sample_id"] for item in found] == [0, 1]


def test_one_text_with_two_ids_is_one_problem(tmp_path: Path) -> None:
    found, problems = read_rows(write(tmp_path / "r", row(level=1, problem=1), row(level=1, problem=2)), WITH_IDS)
    assert [item.task for item in found] == ["level1/1", "level1/1"]
    assert [item.origin["problem_id"] for item in found] == [1, 2]
    assert list(problems) == ["level1/1"]


def test_nothing_is_dropped(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rows.jsonl",
        row(level=1, problem=1, sample=0),
        row(level=1, problem=1, sample=0),
        row(code=None, level=1, problem=2),
        row(code="def", level=1, problem=3),
        row(ref="", level=1, problem=4),
        row(level=1, problem="x"),
        row(level="x", problem=6),
        row(level=1, problem=7, sample="x"),
        row(code="x = '\ud800'", level=1, problem=8),
        row(code=REF, level=1, problem=9),
        row(code="#" * ((1 << 20) + 1), level=1, problem=10),
        "{",
        "[1]",
        '"text"',
    )
    with path.open("ab") as stream:
        stream.write(b'{"ref": "\xff"}\n')
    found, _ = read_rows(path, FULL)
    assert [item.id for item in found] == [f"row-{number:06}" for number in range(1, 16)]
    assert [item.problem for item in found] == [
        "",
        f"a second kernel for level 1, problem 1, sample 0: the first is {path}:1",
        "its field 'code' holds no code",
        "syntax error in line 1: invalid syntax",
        "its field 'ref' holds no code",
        "its problem id 'problem' is no whole number",
        "its level 'level' is no whole number",
        "its sample id 'sample' is no whole number",
        "its field 'code' holds no code",
        "no class ModelNew, and nothing but what the problem itself defines",
        "the kernel is larger than 1 MiB",
        "the row is not JSON: Expecting property name enclosed in double quotes: line 2 column 1 (char 2)",
        "the row is not a JSON object",
        "the row is not a JSON object",
        "the row is not UTF-8 text",
    ]
    # A row without a kernel keeps its place, as a kernel that is missing does in KernelBench.
    assert [item.origin["sample_id"] for item in found[:4]] == [0, None, 0, 0]
    assert {item.origin["problem_id"] for item in found[4:8]} == {None}


def test_a_problem_that_cannot_be_used_is_not_the_kernel_s_fault(tmp_path: Path) -> None:
    (item,), problems = read_rows(write(tmp_path / "r", row(ref="def")), PLAIN)
    assert item.problem == ""
    assert problems[item.task].defect == "the problem cannot be used: syntax error in line 1: invalid syntax"


@pytest.mark.parametrize(
    ("rows", "fields", "message"),
    [
        ([], PLAIN, "holds no row that is a JSON object"),
        (["[1]"], PLAIN, r"expected JSON Lines, found one JSON list \(write one object a line: jq"),
        (["[", '{"ref": ""}', "]"], PLAIN, "expected JSON Lines, found JSON over several lines"),
        ([row()], Fields("ref_code", "code"), r"\(--ref-field\): no row has the field 'ref_code' \(its rows have code, ref\)"),
        ([row()], Fields("ref", "kernel"), r"\(--code-field\): no row has the field 'kernel'"),
        ([row()], Fields("ref", "code", "l"), r"\(--level-field\): no row has the field 'l'"),
        ([row()], Fields("ref", "code", "", "p"), r"\(--problem-field\): no row has the field 'p'"),
        ([row()], Fields("ref", "code", "", "", "s"), r"\(--sample-field\): no row has the field 's'"),
    ],
)
def test_bad_files(rows: list[Any], fields: Fields, message: str, tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match=message):
        read_rows(write(tmp_path / "rows.jsonl", *rows), fields)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match=r"rows.jsonl: cannot be read: No such file"):
        read_rows(tmp_path / "rows.jsonl", PLAIN)


def test_one_row_again(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", row(), "", row(code="x = 2"))
    assert read_row(path, 3, "code") == "x = 2"
    assert read_row(path, 2, "code") == read_row(path, 9, "code") == read_row(path, 1, "other") == ""


@given(
    lines=st.lists(
        st.text(alphabet=st.characters(exclude_characters="\n\r"))
        | st.dictionaries(st.sampled_from(["ref", "code", "level"]), st.text() | st.integers() | st.none()),
        max_size=6,
    )
)
def test_every_line_is_accounted_for(lines: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write(tmp_path_factory.mktemp("rows") / "rows.jsonl", row(level=1), *lines)
    found, problems = read_rows(path, Fields("ref", "code", "level"))
    assert len(found) == sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))
    assert all(item.problem or item.task in problems for item in found)
    placed = [tuple(item.origin.values()) for item in found if item.origin["sample_id"] is not None]
    assert len(set(placed)) == len(placed)
