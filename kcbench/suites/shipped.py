"""KernelBench's problems as kcbench's own tasks: with contracts read by a person and independent references."""

from __future__ import annotations

from pathlib import Path

from kcbench.errors import KcbenchError
from kcbench.paths import data_root
from kcbench.suites.kernelbench import Problem, Problems
from kcbench.tasks import list_tasks, load_task


def shipped_problems(root: Path | None = None) -> Problems:
    """The tasks that stand for problems of KernelBench, by level and id. :attr:`Problem.task_id` is the id of the task.

    Args:
        root: Folder that holds ``tasks/`` and ``references/``; by default the data that came with kcbench.

    Raises:
        KcbenchError: There is no such task, or two stand for one problem.
    """
    found: dict[tuple[int, int], Problem] = {}
    for name in list_tasks(root):
        task = load_task(name, root)
        place = task.contract.kernelbench
        if place is None:
            continue
        if place in found:
            raise KcbenchError(f"{found[place].task_id} and {name} stand for one problem of KernelBench", where=str(task.folder))
        found[place] = Problem(place[0], place[1], task.name, str(task.folder), task.code)
    if not found:
        raise KcbenchError("no task stands for a problem of KernelBench", where=str(root or data_root()))
    return dict(sorted(found.items()))
