"""Inferred contracts kept by content: a problem is inferred once on a machine, for each version of kcbench."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import torch

from kcbench import __version__
from kcbench.domain.contract import Contract
from kcbench.domain.schema import load_json
from kcbench.domain.task import Task
from kcbench.errors import KcbenchError
from kcbench.infer.inference import infer
from kcbench.infer.shrink import CannotShrinkError
from kcbench.infer.sites import find_sites
from kcbench.paths import default_cache

FORMAT = 8
"""Raised when the way of inferring changes, so that kept contracts are made anew."""


def task_of_problem(code: str, *, task_id: str, cache: Path | None = None) -> Task:
    """The task of a KernelBench-format problem, with an inferred contract.

    The first call takes seconds to a minute and runs the problem, which is trusted, on the CPU; later ones read what it found.

    Args:
        code: The problem's source: ``Model``, ``get_inputs`` and ``get_init_inputs``.
        task_id: Id of the task, ``<level>/<name>``.
        cache: Folder to keep contracts in; the user's cache folder by default.

    Raises:
        KcbenchError: The problem does not run, or no contract could be inferred from it.
    """
    root = (cache if cache is not None else default_cache()) / "contracts"
    key = hashlib.sha256("\0".join((code, task_id, __version__, str(FORMAT), torch.__version__)).encode()).hexdigest()[:32]
    folder = root / key
    name = task_id.rsplit("/", 1)[-1]
    kept = _read(folder, task_id, find_sites(code, where=name).code)
    if kept is not None:
        return kept
    try:
        task = infer(code, task_id=task_id, name=name).task
    except CannotShrinkError as error:
        raise KcbenchError(f"no contract could be inferred: {error}", where=task_id) from error
    except KcbenchError:
        raise
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0][:200]
        raise KcbenchError(f"no contract could be inferred: {type(error).__name__}: {line}", where=task_id) from error
    _write(folder, task)
    return task


def _read(folder: Path, task_id: str, code: str) -> Task | None:
    """A task that was kept; None where there is none, or where it can no longer be read, so that it is made anew."""
    try:
        data = load_json(folder / "contract.json", "contract")
    except KcbenchError:
        return None
    if data["task"] != task_id:
        return None
    return Task(task_id, data["title"], data["category"], data["formula"], code, Contract.from_json(data))


def _write(folder: Path, task: Task) -> None:
    """Keep a task, all of it or nothing; a folder that cannot be written costs time and nothing else."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
        (made / "task.py").write_text(task.code, encoding="utf-8")
        (made / "contract.json").write_text(json.dumps(task.contract.raw, indent=2) + "\n", encoding="utf-8")
        if _read(folder, task.id, task.code) is None:
            _remove(folder)
        try:
            made.rename(folder)
        except OSError:  # Another process was first.
            _remove(made)
    except OSError:
        return


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
