"""Reader: a built dataset folder back into tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcbench.domain.schema import validate
from kcbench.errors import KcbenchError
from kcbench.hub.build import new_folder
from kcbench.hub.columns import REFERENCES, TASKS
from kcbench.hub.manifest import Manifest, data_file
from kcbench.hub.parquet import digest, read

_AGAIN = "download or build the dataset again"


def materialise(folder: Path, into: Path) -> Path:
    """Write the tasks of a dataset as files, so that ``load_task(..., root=into)`` finds them.

    Args:
        folder: A folder that :func:`kcbench.hub.build.build` made, or a copy of it from the Hub.
        into: The folder to make; an existing one is replaced as a whole.

    Returns:
        ``into``, which holds ``tasks/`` and ``references/`` with the bytes that the dataset was built from.

    Raises:
        KcbenchError: It is no dataset of kcbench or one of a newer format, a file is damaged or missing, a row is not usable, a
            task has no reference, or ``into`` cannot be written.
        MissingExtraError: pyarrow is not installed.
    """
    tasks, references = read_dataset(folder)
    with new_folder(into) as made:
        for row in tasks:
            task = made / "tasks" / row["id"]
            task.mkdir(parents=True)
            _write(task / "task.py", row["code"])
            _write(task / "contract.json", row["contract"])
            reference = made / "references" / f"{row['id']}.py"
            reference.parent.mkdir(parents=True, exist_ok=True)
            _write(reference, references[row["id"]])
    return into


def read_dataset(folder: Path) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The rows of the configuration ``all``, and the reference code of each task by id.

    Raises:
        KcbenchError: As for :func:`materialise`.
    """
    manifest = Manifest.read(folder)
    rows = _rows(folder, manifest, "all", TASKS)
    references = {row["id"]: row["reference_code"] for row in _rows(folder, manifest, "references", REFERENCES)}
    for row in rows:
        if row["id"] not in references:
            where = str(folder / data_file("references"))
            raise KcbenchError(f"task {row['id']} has no reference", where=where, fix=_AGAIN)
    return rows, references


def _rows(folder: Path, manifest: Manifest, config: str, table: str) -> list[dict[str, Any]]:
    name = data_file(config)
    path = folder / name
    if not path.is_file():
        raise KcbenchError(f"the dataset has no {config}: the file is missing", where=str(path), fix=_AGAIN)
    rows = read(path, table)
    if digest(path) != manifest.files.get(name):
        raise KcbenchError("is not the file that was built: its digest is another one", where=str(path), fix=_AGAIN)
    _check_rows(rows, table, path)
    return rows


def _check_rows(rows: Sequence[Mapping[str, Any]], table: str, path: Path) -> None:
    """Ids become paths here, so that none may lead out of the folder or be met twice."""
    seen: set[str] = set()
    for number, row in enumerate(rows):
        validate(row, table, source=f"{path}, row {number}")
        if any(set(part) <= {"."} for part in row["id"].split("/")):
            raise KcbenchError(f"row {number} has the id {row['id']!r}, which is no task id", where=str(path), fix=_AGAIN)
        if row["id"] in seen:
            raise KcbenchError(f"row {number} has the id {row['id']!r} again", where=str(path), fix=_AGAIN)
        seen.add(row["id"])


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))
