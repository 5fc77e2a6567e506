"""``kcbench contract draft`` and ``prove``: for whoever writes a task."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kcbench.cli.exits import REFUSED
from kcbench.cli.options import require_torch
from kcbench.errors import KcbenchError


def draft(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Folders tasks/<level>/<name> with a task.py.", show_default=False)
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace contracts that are there.")] = False,
) -> None:
    """Write a first contract beside the code of a new task, found by experiment on its model.

    The task's code is run. Its author reads the contract, mends it, and sets its provenance to "hand".
    """
    require_torch()
    from kcbench.domain.json_text import json_text
    from kcbench.infer.authoring import first_contract

    for folder in folders:
        path = folder / "contract.json"
        if path.exists() and not force:
            raise KcbenchError("there is a contract already", where=str(path), fix="use --force to replace it")
        path.write_text(json_text(first_contract(folder)), encoding="utf-8")
        print(path)


def prove(
    tasks: Annotated[
        list[str], typer.Argument(metavar="TASK...", help="Task ids, or levels such as level1.", show_default=False)
    ],
) -> None:
    """Is every clause of a contract alive? The task's own model must pass each gate, and planted faults must not.

    Exits with 1 if a gate that a contract claims says nothing about kernels.
    """
    require_torch()
    from kcbench.infer.authoring import dead_clauses
    from kcbench.tasks import list_tasks, load_task

    known = list_tasks()
    chosen = [task for name in tasks for task in ([t for t in known if t.startswith(f"{name}/")] or [name])]
    dead = 0
    for name in chosen:
        found = dead_clauses(load_task(name))
        dead += bool(found)
        print(f"{name}: {'alive' if not found else ''}", flush=True)
        for gate, reason in found.items():
            print(f"  {gate}: {reason}", file=sys.stderr)
    if dead:
        print(f"{dead} of {len(chosen)} contracts claim a gate that says nothing about kernels", file=sys.stderr)
        raise typer.Exit(REFUSED)
