"""A contract is inferred once, and a cache that is broken costs time and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

from kcbench.domain.task import Task
from kcbench.errors import KcbenchError
from kcbench.infer import cache, task_of_problem
from tests.infer import problems
from tests.infer.problems import forward, layers, problem

CODE = problems.LITERALS
ID = "level1/row_means"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The problems that were inferred and not read."""
    seen: list[str] = []
    infer = cache.infer

    def counted(code: str, **options: str) -> object:
        seen.append(code)
        return infer(code, **options)

    monkeypatch.setattr(cache, "infer", counted)
    return seen


def folder_of(root: Path) -> Path:
    (found,) = (root / "contracts").iterdir()
    return found


def test_the_second_call_reads(tmp_path: Path, calls: list[str]) -> None:
    first = task_of_problem(CODE, task_id=ID, cache=tmp_path)
    second = task_of_problem(CODE, task_id=ID, cache=tmp_path)
    assert len(calls) == 1
    assert (first, first.digest) == (second, second.digest)
    assert {path.name for path in folder_of(tmp_path).iterdir()} == {"contract.json", "task.py"}
    assert (folder_of(tmp_path) / "task.py").read_text("utf-8") == first.code


def test_another_problem_or_id_is_another_entry(tmp_path: Path, calls: list[str]) -> None:
    for code, name in ((CODE, ID), (CODE + "\n# changed\n", ID), (CODE, "level2/row_means")):
        assert task_of_problem(code, task_id=name, cache=tmp_path).id == name
    assert len(calls) == 3 == len(list((tmp_path / "contracts").iterdir()))


def truncate(folder: Path) -> None:
    path = folder / "contract.json"
    path.write_text(path.read_text("utf-8")[:100], "utf-8")


def rename_task(folder: Path) -> None:
    path = folder / "contract.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "task": "level9/other"}), "utf-8")


def drop_a_key(folder: Path) -> None:
    path = folder / "contract.json"
    data = json.loads(path.read_text("utf-8"))
    del data["inputs"]
    path.write_text(json.dumps(data), "utf-8")


def as_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        rename_task,
        drop_a_key,
        as_a_file,
        empty,
        lambda folder: (folder / "contract.json").write_bytes(b"\xff\xfe"),
        lambda folder: (folder / "contract.json").unlink(),
    ],
)
def test_what_can_no_longer_be_read_is_made_anew(damage: Callable[[Path], object], tmp_path: Path, calls: list[str]) -> None:
    first = task_of_problem(CODE, task_id=ID, cache=tmp_path)
    damage(folder_of(tmp_path))
    assert task_of_problem(CODE, task_id=ID, cache=tmp_path) == first
    assert task_of_problem(CODE, task_id=ID, cache=tmp_path) == first
    assert len(calls) == 2, "what was made anew is kept again"
    assert [path.name for path in (tmp_path / "contracts").iterdir()] == [folder_of(tmp_path).name]


@pytest.mark.parametrize(
    "damage", [lambda path: path.unlink(), lambda path: path.write_text("1 / 0"), lambda path: path.write_bytes(b"\xff")]
)
def test_the_code_comes_from_the_problem_and_not_from_the_cache(
    damage: Callable[[Path], object], tmp_path: Path, calls: list[str]
) -> None:
    first = task_of_problem(CODE, task_id=ID, cache=tmp_path)
    damage(folder_of(tmp_path) / "task.py")
    assert task_of_problem(CODE, task_id=ID, cache=tmp_path).code == first.code
    assert len(calls) == 1


@pytest.mark.parametrize("kind", ["file", "contracts is a file", "read-only"])
def test_a_cache_that_cannot_be_written_is_done_without(kind: str, tmp_path: Path, calls: list[str]) -> None:
    root = tmp_path / "cache"
    if kind == "file":
        root.write_text("x")
    elif kind == "contracts is a file":
        root.mkdir()
        (root / "contracts").write_text("x")
    else:
        root.mkdir(mode=0o500)
        if os.access(root, os.W_OK):
            pytest.skip("whoever runs this can write anywhere")
    assert task_of_problem(CODE, task_id=ID, cache=root).id == ID


def test_where_contracts_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KCBENCH_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.default_cache() == tmp_path / ".cache" / "kcbench"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache.default_cache() == tmp_path / "x" / "kcbench"
    monkeypatch.setenv("KCBENCH_CACHE", str(tmp_path / "y"))
    assert cache.default_cache() == tmp_path / "y"
    task_of_problem(CODE, task_id=ID)
    assert (tmp_path / "y" / "contracts").is_dir()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def", "cannot be parsed"),
        ("x = 1\n", "the task defines no Model"),
        (problem(forward("x"), "return [1 / 0]"), "ZeroDivisionError"),
        (problem(forward("x", "x, y"), "return [torch.rand(3), 'mean']"), "no contract could be inferred: ValueError"),
        (
            problem(forward("missing"), "return [torch.rand(2000, 2000)]"),
            "no contract could be inferred: the model raises NameError",
        ),
        (problem(layers("self.f = f", "x", constructor="f"), "return [torch.rand(3)]", init="[object()]"), "expected"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_task_and_nothing_is_kept(code: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(KcbenchError) as error:
        task_of_problem(code, task_id=ID, cache=tmp_path)
    text = str(error.value)
    assert message in text and "\n" not in text and "row_means" in text
    assert not (tmp_path / "contracts").exists()


def _made(root: str) -> tuple[str, Task]:
    task = task_of_problem(CODE, task_id=ID, cache=Path(root))
    return task.digest, task


def test_two_processes_at_once_agree(tmp_path: Path) -> None:
    with get_context("fork").Pool(2) as pool:
        (one, _), (two, _) = pool.map(_made, [str(tmp_path)] * 2, chunksize=1)
    assert one == two == _made(str(tmp_path))[0]
    assert [path.name for path in (tmp_path / "contracts").iterdir()] == [folder_of(tmp_path).name]
