"""A built dataset back into tasks, and what is refused on the way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kcbench.errors import KcbenchError
from kcbench.hub.manifest import FORMAT, data_file
from kcbench.hub.parquet import digest
from kcbench.hub.reader import materialise
from kcbench.tasks import list_tasks, load_task

ALL, REFERENCES = data_file("all"), data_file("references")


def _tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """The dataset, to be damaged."""
    return Path(shutil.copytree(built, tmp_path / "copy"))


def _manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "kcbench.json"
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def _rewrite(folder: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a file and make the manifest agree with it."""
    pq.write_table(change(pq.read_table(folder / name)), folder / name)
    _manifest(folder, lambda data: data["files"].update({name: digest(folder / name)}))


def _row(number: int, changes: Mapping[str, Any]) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[number].update(changes)
        return pa.Table.from_pylist(rows, schema=table.schema)

    return change


def test_tasks_come_back_as_they_were(built: Path, few_tasks: Path, tmp_path: Path) -> None:
    root = materialise(built, tmp_path / "deep" / "root")
    assert root == tmp_path / "deep" / "root"
    assert _tree(root) == _tree(few_tasks)
    for name in list_tasks(few_tasks):
        assert load_task(name, root).digest == load_task(name, few_tasks).digest


def test_an_existing_root_is_replaced_as_a_whole(built: Path, few_tasks: Path, tmp_path: Path) -> None:
    (tmp_path / "root" / "tasks" / "level1" / "gone").mkdir(parents=True)
    materialise(built, tmp_path / "root")
    assert _tree(tmp_path / "root") == _tree(few_tasks)
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def _refused(folder: Path, message: str) -> str:
    into = folder.parent / "root"
    with pytest.raises(KcbenchError, match=message) as error:
        materialise(folder, into)
    assert not into.exists()
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def test_what_is_no_dataset(tmp_path: Path) -> None:
    _refused(tmp_path, "is no dataset of kcbench: it has no kcbench.json")


def test_a_newer_format(copy: Path) -> None:
    _manifest(copy, lambda data: data.update(format=FORMAT + 1, new="thing"))
    line = _refused(copy, f"has format {FORMAT + 1}, and this kcbench reads formats up to {FORMAT}")
    assert "pip install -U kcbench" in line


@pytest.mark.parametrize("name", [ALL, REFERENCES])
def test_a_damaged_file(copy: Path, name: str) -> None:
    data = bytearray((copy / name).read_bytes())
    (copy / name).write_bytes(data[: len(data) // 2])
    _refused(copy, "is no Parquet file that can be read")
    (copy / name).write_bytes(b"")
    _refused(copy, "is no Parquet file that can be read")
    data[len(data) // 2] ^= 0xFF
    (copy / name).write_bytes(data)
    _refused(copy, f"{name}: (is no Parquet file that can be read|is not the file that was built)")


def test_a_file_of_another_build(copy: Path) -> None:
    pq.write_table(pq.read_table(copy / ALL), copy / ALL)
    _refused(copy, "is not the file that was built: its digest is another one")


def test_a_missing_file(copy: Path) -> None:
    (copy / REFERENCES).unlink()
    _refused(copy, "the dataset has no references: the file is missing")


def test_a_missing_column(copy: Path) -> None:
    _rewrite(copy, ALL, lambda table: table.drop_columns(["contract", "gates"]))
    _refused(copy, "has no column contract, gates")


def test_a_column_of_another_type(copy: Path) -> None:
    _rewrite(copy, ALL, lambda table: table.set_column(1, "level", pa.array(["one"] * table.num_rows)))
    _refused(copy, "is no Parquet file that can be read: Failed to parse string")


def test_a_column_more_is_no_fault(copy: Path, few_tasks: Path, tmp_path: Path) -> None:
    _rewrite(copy, ALL, lambda table: table.append_column("stars", pa.array([5] * table.num_rows)))
    assert _tree(materialise(copy, tmp_path / "root")) == _tree(few_tasks)


def test_a_missing_reference(copy: Path) -> None:
    _rewrite(copy, REFERENCES, lambda table: table.slice(1))
    _refused(copy, "task level1/matmul has no reference")


@pytest.mark.parametrize("name", ["../outside", "level1/..", "./.", "/etc/passwd", "level1/a/b", "level1/new\nline"])
def test_ids_that_lead_elsewhere(copy: Path, name: str) -> None:
    _rewrite(copy, ALL, _row(0, {"id": name}))
    _rewrite(copy, REFERENCES, _row(0, {"id": name}))
    _refused(copy, "row 0")


def test_rows_that_cannot_be_used(copy: Path) -> None:
    _rewrite(copy, ALL, _row(1, {"id": "level1/matmul"}))
    _refused(copy, "row 1 has the id 'level1/matmul' again")
    _rewrite(copy, ALL, _row(1, {"id": "level1/relu", "code": None}))
    _refused(copy, r"row 1: \$\.code: expected text, found null")
