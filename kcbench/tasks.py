"""Loading tasks from their folders. No torch: listing and reading tasks takes milliseconds."""

from __future__ import annotations

import difflib
from pathlib import Path

from kcbench.domain.contract import Contract
from kcbench.domain.task import Task
from kcbench.errors import KcbenchError
from kcbench.paths import data_root

__all__ = ["data_root", "list_tasks", "load_task"]


def list_tasks(root: Path | None = None) -> list[str]:
    """Ids of all tasks, by level and name.

    Args:
        root: Folder that holds ``tasks/`` and ``references/``; by default the data that came with kcbench.

    Returns:
        Ids such as ``level1/softmax``. A folder counts as a task when it holds a ``task.py``.
    """
    folder = (root or data_root()) / "tasks"
    found = (f"{path.parent.parent.name}/{path.parent.name}" for path in folder.glob("*/*/task.py"))
    return sorted(found, key=lambda name: (len(name.partition("/")[0]), name))


def load_task(task_id: str, root: Path | None = None) -> Task:
    """Read one task: its code, its contract and where its reference lies.

    Args:
        task_id: Task id, for example ``level1/softmax``.
        root: Folder that holds ``tasks/`` and ``references/``; by default the data that came with kcbench.

    Returns:
        The task. Its code has been read, not run.

    Raises:
        KcbenchError: There is no such task, one of its files is missing, or its contract is not valid.
    """
    from kcbench.domain.schema import load_json

    root = root or data_root()
    known = list_tasks(root)
    if task_id not in known:
        raise KcbenchError(f"there is no task {task_id!r}", where=str(root / "tasks"), fix=_suggestion(task_id, known))
    folder = root / "tasks" / task_id
    path = folder / "contract.json"
    reference = root / "references" / f"{task_id}.py"
    for file, what in ((path, "contract"), (reference, "reference")):
        if not file.is_file():
            raise KcbenchError(f"task {task_id} has no {what}", where=str(file), fix=f"write the {what}, or remove {folder}")
    data = load_json(path, "contract")
    if data["task"] != task_id:
        raise KcbenchError(f"the contract is for {data['task']!r}", where=str(path), fix="id and folder must agree")
    return Task(
        id=task_id,
        title=data["title"],
        category=data["category"],
        formula=data["formula"],
        code=_text(folder / "task.py"),
        contract=Contract.from_json(data),
        folder=folder,
        reference=reference,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KcbenchError(f"cannot be read: {error}", where=str(path)) from error


def _suggestion(task_id: str, known: list[str]) -> str:
    # A bare name is matched against names, so that "softmax" finds level1/softmax.
    names = {task.rsplit("/", 1)[-1]: task for task in reversed(known)}
    close = difflib.get_close_matches(task_id, known, n=3, cutoff=0.7)
    close += [names[name] for name in difflib.get_close_matches(task_id.rsplit("/", 1)[-1], names, n=3, cutoff=0.7)]
    if close:
        return f"did you mean {' or '.join(dict.fromkeys(close))}?"
    return f"the tasks are {', '.join(known)}" if known else "the folder holds no task"
