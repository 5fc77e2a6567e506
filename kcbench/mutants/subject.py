"""Subject: an honest kernel from which mutants are made."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kcbench.domain.task import Task
from kcbench.ensemble import TRITON, all_variants, study_tasks
from kcbench.mutants.program import ENTRY
from kcbench.redteam import load_catalog
from kcbench.syntax import parse_module
from kcbench.tasks import load_task


@dataclass(frozen=True)
class Subject:
    """An honest kernel."""

    id: str
    """``<task>/model`` for the task's own model, ``<task>/<stem>`` for a red team's file, or a variant's id."""
    task: Task
    source: str
    language: str
    """``torch`` or ``triton``."""


def subjects(tasks: Iterable[str] = ()) -> Iterator[Subject]:
    """The tasks' own models, the honest kernels of the red team, and one Triton variant for each task, by task.

    Args:
        tasks: Ids of the tasks to take; all that the ensemble has variants of if there are none.

    Raises:
        KcbenchError: There is no such task.
    """
    entries = [entry for entry in load_catalog() if not entry.broken]
    for name in tuple(tasks) or study_tasks():
        task = load_task(name)
        yield Subject(f"{name}/model", task, as_kernel(task.code), "torch")
        for entry in entries:
            if entry.task == name:
                identifier = f"{name}/{entry.path.stem}"
                yield Subject(identifier, task, entry.source, entry.submission().language)
        for variant in itertools.islice((item for item in all_variants() if (item.task, item.language) == (name, TRITON)), 1):
            yield Subject(variant.id, task, variant.source, variant.language)


def as_kernel(code: str) -> str:
    """A task's code as a submission: its model under the name that is scored, without what makes inputs."""
    tree = parse_module(code)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    read = {node.id for item in classes for node in ast.walk(item) if isinstance(node, ast.Name)}
    for item in reversed(tree.body):  # A constant may be made of earlier ones.
        if _assigns(item, read):
            read |= {node.id for node in ast.walk(item) if isinstance(node, ast.Name)}
    kept = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.Assign) or _assigns(node, read)]
    for node in kept:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            node.name = ENTRY
    return ast.unparse(ast.Module(kept, [])) + "\n"


def _assigns(node: ast.stmt, names: set[str]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id in names for target in targets)
