from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kcbench.domain.schema import validate
from kcbench.errors import KcbenchError
from kcbench.oracle.module import reference_module, task_module
from kcbench.tasks import data_root, list_tasks, load_task

DERIVED = """
import torch
rows = 10
wide = 4 * rows
one, two = 1, 2
if rows:
    late = 3

class Model(torch.nn.Module):
    pass

def get_inputs():
    return [torch.zeros(rows, wide)]

def get_init_inputs():
    return [wide]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with one task, to be damaged."""
    for part in ("tasks/level1/softmax", "references/level1"):
        shutil.copytree(data_root() / part, tmp_path / part)
    return tmp_path


def test_the_shipped_tasks() -> None:
    names = list_tasks()
    assert len(names) >= 280
    assert names == sorted(names)
    assert {"level1/attention", "level2/linear_bias_gelu", "level4/gated_delta_rule"} <= set(names)


def test_levels_are_listed_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("level10/a", "level2/b", "level2/a"):
        (tmp_path / "tasks" / name).mkdir(parents=True)
        (tmp_path / "tasks" / name / "task.py").touch()
    assert list_tasks(tmp_path) == ["level2/a", "level2/b", "level10/a"]


def test_reading_tasks_needs_no_torch() -> None:
    code = """
import sys
from kcbench.tasks import list_tasks, load_task
for task in list_tasks():
    load_task(task)
sys.exit("torch" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_listing_is_fast() -> None:
    start = time.perf_counter()
    list_tasks()
    assert time.perf_counter() - start < 0.5


def test_a_task_is_valid_data(task_id: str) -> None:
    task = load_task(task_id)
    validate(json.loads(json.dumps(task.to_json())), "task", source=task_id)
    assert task.id == task_id
    assert task.folder == data_root() / "tasks" / task_id
    assert task.reference == data_root() / "references" / f"{task_id}.py"


@pytest.mark.parametrize("wrong", ["level1/sofmax", "softmax", "level2/softmax"])
def test_an_unknown_task_is_answered_with_the_nearest(wrong: str) -> None:
    with pytest.raises(KcbenchError, match=r"did you mean .*level1/softmax"):
        load_task(wrong)


def test_an_unknown_task_without_a_near_one_is_answered_with_all(root: Path) -> None:
    with pytest.raises(KcbenchError, match=r"no task '.*' \(the tasks are level1/softmax\)"):
        load_task("../../etc", root)
    with pytest.raises(KcbenchError, match="holds no task"):
        load_task("level1/softmax", root / "references")


@pytest.mark.parametrize("file", ["tasks/level1/softmax/contract.json", "references/level1/softmax.py"])
def test_a_missing_file_is_named(root: Path, file: str) -> None:
    (root / file).unlink()
    with pytest.raises(KcbenchError, match=f"{Path(file).name}: task level1/softmax has no "):
        load_task("level1/softmax", root)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{", "", "not JSON"),
        ('"task": "level1/softmax"', '"task": "level1/relu"', "contract is for 'level1/relu'"),
        ('"nonfinite": "exact"', '"nonfinite": "exactly"', r"nonfinite.*exact"),
        ('"gate": 13', '"gate": 0', r"batch_size\.gate"),
    ],
)
def test_a_bad_contract_is_refused_with_its_place(root: Path, old: str, new: str, message: str) -> None:
    path = root / "tasks/level1/softmax/contract.json"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(KcbenchError, match=message) as caught:
        load_task("level1/softmax", root)
    assert str(path) in str(caught.value)


def test_a_file_that_is_no_text_is_refused(root: Path) -> None:
    (root / "tasks/level1/softmax/task.py").write_bytes(b"\xff\xfe")
    with pytest.raises(KcbenchError, match=r"task\.py: cannot be read"):
        load_task("level1/softmax", root)


def test_sizes_replace_module_constants() -> None:
    task = load_task("level1/matmul")
    module = task_module(task, {"M": 3, "K": 5, "N": 7})
    assert [tuple(tensor.shape) for tensor in module.get_inputs()] == [(3, 5), (5, 7)]
    assert task_module(task, None).M == 2048


def test_what_is_computed_from_a_size_at_import_follows_it() -> None:
    task = dataclasses.replace(load_task("level1/matmul"), code=DERIVED)
    module = task_module(task, {"rows": 3})
    assert (module.rows, module.wide, module.get_init_inputs()) == (3, 12, [12])
    assert tuple(module.get_inputs()[0].shape) == (3, 12)
    assert task_module(task, None).wide == 40


@pytest.mark.parametrize("name", ["wide", "late", "one", "nowhere"])
def test_only_constants_of_the_module_can_be_set(name: str) -> None:
    """What is assigned with others, or in a block, is no constant; what is computed may be set as well."""
    task = dataclasses.replace(load_task("level1/matmul"), code=DERIVED)
    if name == "wide":
        assert task_module(task, {"wide": 5}).get_init_inputs() == [5]
        return
    with pytest.raises(KcbenchError, match=f"the task has no constant '{name}'"):
        task_module(task, {name: 3})


def test_modules_are_not_shared() -> None:
    task = load_task("level1/relu")
    first, second = task_module(task, None), task_module(task, None)
    first.dim = 1
    assert second.dim != 1
    assert first.Model is not second.Model


def test_a_size_for_no_constant_is_refused() -> None:
    with pytest.raises(KcbenchError, match="no constant 'width'"):
        task_module(load_task("level1/relu"), {"width": 3})


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 / 0", "does not run: ZeroDivisionError"),
        ("class Model: ...", "no get_inputs"),
        ("def", "cannot be parsed: invalid syntax"),
    ],
)
def test_broken_task_code_is_refused(root: Path, code: str, message: str) -> None:
    (root / "tasks/level1/softmax/task.py").write_text(code)
    with pytest.raises(KcbenchError, match=message):
        task_module(load_task("level1/softmax", root), None)


@pytest.mark.parametrize(
    ("code", "message"), [("x = 1", "defines no forward"), ("import nowhere", "does not run: ModuleNotFoundError")]
)
def test_a_broken_reference_is_refused(root: Path, code: str, message: str) -> None:
    (root / "references/level1/softmax.py").write_text(code)
    with pytest.raises(KcbenchError, match=message):
        reference_module(load_task("level1/softmax", root))
