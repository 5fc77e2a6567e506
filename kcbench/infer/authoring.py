"""Helping the author of a task: a first contract for its code, and whether a contract's clauses are alive."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from kcbench.domain.schema import validate
from kcbench.domain.task import Task, settable_constants
from kcbench.errors import KcbenchError
from kcbench.infer.inference import infer
from kcbench.infer.selfcheck import NOTHING, SLIGHT, VALUE_GATES, trial
from kcbench.infer.shrink import CannotShrinkError
from kcbench.oracle.module import problem_module
from kcbench.oracle.oracle import TaskOracle
from kcbench.syntax import parse_module

TRIAL_SECONDS = 600.0
_NUMBER = re.compile(r"level(\d+)/(\d{3})_")
_SELF_EVIDENT = ("dtypes", "precision")
"""Clauses whose inferred reason only says that they are the default."""


def first_contract(folder: Path) -> dict[str, Any]:
    """Infer a contract from the ``task.py`` of a task that is being written.

    The formula is the last paragraph of the docstring of ``Model``, and the title is made of the folder's name. A folder
    ``level1/023_softmax`` stands for KernelBench's problem 23 of level 1. The contract says ``inferred`` until its author has
    read it.

    Args:
        folder: ``tasks/<level>/<name>``.

    Returns:
        The contract as data.

    Raises:
        KcbenchError: There is no ``task.py``, it does not run, one of its sizes has no name, or nothing could be inferred.
    """
    path = folder / "task.py"
    task_id = "/".join(folder.absolute().parts[-2:])
    try:
        code = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KcbenchError(f"cannot be read: {error}", where=str(path)) from error
    try:
        task = infer(code, task_id=task_id, name=folder.name).task
    except CannotShrinkError as error:
        raise KcbenchError(f"no contract could be inferred: {error}", where=str(path)) from error
    nameless = [name for name in task.contract.axes if name not in settable_constants(code)]
    if nameless:
        what = f"a size has no name of its own, and was called {nameless[0]}"
        raise KcbenchError(what, where=str(path), fix="make every size a constant of the module, one a line")
    data = _tidy(dict(task.contract.raw), problem_module(code, None, name=folder.name, where=str(path)))
    data |= {"title": re.sub(r"^\d+_", "", folder.name).replace("_", " ").capitalize(), "formula": _formula(code)}
    number = _NUMBER.match(task_id)
    if number is not None:
        provenance = data.pop("provenance")
        data["compat"] = {"kernelbench": {"level": int(number[1]), "problem_id": int(number[2])}}
        data["provenance"] = provenance
    validate(data, "contract", source=str(path))
    return data


def dead_clauses(task: Task, *, seconds: float = TRIAL_SECONDS, seed: str = "alive") -> dict[str, str]:
    """Gates that a contract claims and that say nothing about a kernel.

    The task's own model and planted faults go through every gate that compares values: a gate must pass the one and refuse the
    others.

    Args:
        task: The task, with its reference.
        seconds: Processor time for all gates.
        seed: Of the inputs.

    Returns:
        Reason by gate id; empty when all is well. A gate that has no question for the task is none of them.
    """
    claimed = task.contract.applicable(VALUE_GATES)
    # The spread of random numbers hides what is slightly off.
    spared = [SLIGHT] if task.contract.random else []
    found = trial(TaskOracle(task, seed=seed), seconds=seconds, gates=claimed).untestable(spared)
    return {gate: reason for gate, reason in found if not reason.startswith(NOTHING)}


def _tidy(data: dict[str, Any], module: ModuleType) -> dict[str, Any]:
    """The same contract without what is the default, and with the task's own sizes in the class of sizes."""
    data["untestable"] = {gate: reason.removeprefix(NOTHING) for gate, reason in data["untestable"].items()}
    data["reasons"] = {
        clause: reason
        for clause, reason in data["reasons"].items()
        if clause not in _SELF_EVIDENT and clause not in data["untestable"]
    }
    data["axes"] = {
        # How far sizes were tried says nothing of what a kernel owes.
        name: {key: value for key, value in axis.items() if key != "maximum" or value >= getattr(module, name)}
        for name, axis in data["axes"].items()
    }
    data["inputs"] = [
        {key: value for key, value in item.items() if (key, value) != ("recipe", {"kind": "normal"})} for item in data["inputs"]
    ]
    if data["reduction"] is not None:
        defaults = {"exact": True, "linear": False, "output_dim": None}
        data["reduction"] = {key: value for key, value in data["reduction"].items() if defaults.get(key, ...) != value}
    for part in (data["gradient"] or {}, *data["designed"]):
        for key in [key for key, value in part.items() if value in ([], {})]:
            del part[key]
    return {key: value for key, value in data.items() if key not in ("parameters", "untestable") or value}


def _formula(code: str) -> str:
    """The last paragraph of the model's docstring, on one line."""
    for node in parse_module(code).body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            paragraphs = (ast.get_docstring(node) or "").split("\n\n")
            return " ".join(paragraphs[-1].split()) or "what Model.forward computes"
    return "what Model.forward computes"
