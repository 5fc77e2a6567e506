"""``kcbench tasks``: what kernels can be scored on."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated, Any

import typer

from kcbench.errors import KcbenchError


def print_tasks(as_json: Annotated[bool, typer.Option("--json", help="As JSON, on stdout.")] = False) -> None:
    """List the tasks."""
    rows = _rows()
    if as_json:
        from kcbench.cli.output import STDOUT, write_json

        write_json(STDOUT, rows)
        return
    lines = [("TASK", "CATEGORY", "DTYPES", "FORMULA")]
    lines += [(row["id"], row["category"], ",".join(map(_short, row["dtypes"])), row["formula"]) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in lines:
        text = "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]])
        print(text if room is None or len(text) <= room else text[: room - 1] + "…")


def _rows() -> list[dict[str, Any]]:
    """What the list shows, read straight from the contracts: loading the tasks would check each file, and triple the time."""
    from kcbench.domain.schema import read_json
    from kcbench.paths import data_root
    from kcbench.tasks import list_tasks

    rows = []
    for name in list_tasks():
        path = data_root() / "tasks" / name / "contract.json"
        data = read_json(path)
        try:
            rows.append({"id": name, **{key: data[key] for key in ("title", "category", "formula", "dtypes")}})
        except (KeyError, TypeError) as error:
            fix = f"kcbench contract validate {path} says why"
            raise KcbenchError("the contract is not valid", where=str(path), fix=fix) from error
    return rows


def show_task(
    task: Annotated[str, typer.Argument(metavar="ID", help="For example level1/softmax.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, on stdout (task.schema.json).")] = False,
) -> None:
    """Show a task: its formula, its axes, and what its contract asks."""
    from kcbench.tasks import load_task

    found = load_task(task)
    if as_json:
        from kcbench.cli.output import STDOUT, write_json
        from kcbench.domain.schema import validate

        data = found.to_json()
        validate(data, "task", source=found.id)
        write_json(STDOUT, data)
        return
    from rich.console import Console

    from kcbench.cli.describe import describe

    Console(highlight=False).print(describe(found))


def _short(dtype: str) -> str:
    return {"bfloat16": "bf16"}.get(dtype, dtype.replace("float", "fp"))
