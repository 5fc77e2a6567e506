"""Turning the trusted source text of tasks and references into modules."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType

from kcbench.domain.task import Task
from kcbench.errors import KcbenchError
from kcbench.syntax import compile_module, parse_module


def task_module(task: Task, sizes: Mapping[str, int] | None) -> ModuleType:
    """Run a task's code in a module of its own.

    Args:
        task: The task. Its code is trusted and runs in this process.
        sizes: Sizes by axis name, which replace the module constants of those names; None keeps the task's own (benchmark) sizes.

    Returns:
        A module with ``Model``, ``get_inputs`` and ``get_init_inputs``, in no way shared with an earlier one.

    Raises:
        KcbenchError: The code does not run, lacks one of those names, or has no constant for an axis of ``sizes``.
    """
    where = str(task.folder / "task.py") if task.folder is not None else task.id
    return problem_module(task.code, sizes, name=f"kcbench_task_{task.name}", where=where)


def problem_module(code: str, sizes: Mapping[str, int] | None, *, name: str, where: str) -> ModuleType:
    """Run KernelBench-format source in a module of its own; see :func:`task_module`.

    A size replaces the constant where it is assigned, so that what the module computes from it at import follows.
    """
    try:
        tree = parse_module(code, where)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise KcbenchError(f"cannot be parsed: {error}", where=where) from error
    missing = dict(sizes or {})
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(target, ast.Name) and target.id in (sizes or {}) and isinstance(node, ast.Assign):
            node.value = ast.copy_location(ast.Constant((sizes or {})[target.id]), node.value)
            missing.pop(target.id, None)
    for constant in missing:
        raise KcbenchError(f"the task has no constant {constant!r}", where=where, fix="axes are constants of task.py")
    module = _execute(tree, name=name, path=where)
    for wanted in ("Model", "get_inputs", "get_init_inputs"):
        if not hasattr(module, wanted):
            raise KcbenchError(f"the task defines no {wanted}", where=where)
    return module


def reference_module(task: Task) -> ModuleType:
    """Run a task's float64 reference in a module of its own.

    Args:
        task: The task.

    Returns:
        A module with ``forward`` and, for some tasks, ``magnitude``.

    Raises:
        KcbenchError: There is no reference, it does not run, or it lacks ``forward``.
    """
    if task.reference is None:
        raise KcbenchError(f"task {task.id} has no reference", fix="load it with kcbench.tasks.load_task")
    where = str(task.reference)
    try:
        source = task.reference.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KcbenchError(f"cannot be read: {error}", where=where) from error
    module = _execute(source, name=f"kcbench_reference_{task.name}", path=where)
    if not callable(getattr(module, "forward", None)):
        raise KcbenchError("the reference defines no forward", where=where)
    return module


def _execute(code: str | ast.Module, *, name: str, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = path
    try:
        exec(compile_module(code, path), module.__dict__)
    except Exception as error:
        raise KcbenchError(f"does not run: {type(error).__name__}: {error}", where=path) from error
    return module
