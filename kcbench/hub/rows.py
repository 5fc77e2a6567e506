"""Rows: tasks and references as the dataset holds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcbench.domain.task import Task
from kcbench.errors import KcbenchError
from kcbench.hub.sizes import shape_lines
from kcbench.report.catalog import GATES
from kcbench.tasks import list_tasks, load_task

LICENSE = "apache-2.0"
"""Of all tasks and references, as the Hub spells it."""

_LEVEL = re.compile(r"^level([1-9][0-9]*)$")


def load_tasks(root: Path) -> Iterator[Task]:
    """All tasks of a data root, in their order.

    Args:
        root: Folder that holds ``tasks/`` and ``references/``.

    Raises:
        KcbenchError: There is none, one of them lacks a file or is not valid, or its level is not ``level<n>``.
    """
    names = list_tasks(root)
    known = set(names)
    for folder in sorted((root / "tasks").glob("*/*/")):
        if f"{folder.parent.name}/{folder.name}" not in known and folder.name != "__pycache__":
            fix = f"write the code, or remove {folder}"
            raise KcbenchError(f"task {folder.parent.name}/{folder.name} has no code", where=str(folder / "task.py"), fix=fix)
    if not names:
        raise KcbenchError("there is no task to build a dataset of", where=str(root / "tasks"))
    for name in names:
        if _LEVEL.match(name.partition("/")[0]) is None:
            fix = "name the folder level1, level2, ..."
            raise KcbenchError("a published task lies in a level", where=str(root / "tasks" / name), fix=fix)
        yield load_task(name, root)


def task_row(task: Task) -> dict[str, Any]:
    """One row of the configurations ``all`` and ``level_<n>`` (``task_row.schema.json``).

    Args:
        task: A task that :func:`load_tasks` gave.

    Raises:
        KcbenchError: A file of the task cannot be read, or its code is not Python.
    """
    contract = task.contract
    level, problem_id = contract.kernelbench or (None, None)
    try:
        shapes = shape_lines(contract, task.code)
    except (SyntaxError, ValueError) as error:
        raise KcbenchError(f"cannot be parsed: {error}", where=f"tasks/{task.id}/task.py") from error
    return {
        "id": task.id,
        "level": level_of(task),
        "name": task.name,
        "title": task.title,
        "summary": task.summary,
        "formula": task.formula,
        "category": task.category,
        "code": task.code,
        "contract": _text(task.folder, "contract.json"),
        "shapes": shapes,
        "dtypes": list(contract.dtypes),
        "gates": list(contract.applicable([gate.id for gate in GATES if gate.id != "GUARD"])),
        "kernelbench_level": level,
        "kernelbench_problem_id": problem_id,
        "repairs": contract.repairs,
        "license": LICENSE,
    }


def reference_row(task: Task) -> dict[str, Any]:
    """One row of the configuration ``references`` (``reference_row.schema.json``).

    Raises:
        KcbenchError: The reference cannot be read.
    """
    return {"id": task.id, "reference_code": _text(task.reference)}


def level_of(task: Task) -> int:
    """The number of a published task's level."""
    match = _LEVEL.match(task.level)
    assert match is not None, task.id
    return int(match[1])


def _text(folder: Path | None, name: str = "") -> str:
    assert folder is not None
    path = folder / name
    try:
        return path.read_bytes().decode("utf-8")  # As bytes: line ends stay as they are.
    except (OSError, UnicodeDecodeError) as error:
        raise KcbenchError(f"cannot be read: {error}", where=str(path)) from error
