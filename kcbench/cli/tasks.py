"""``kcbench tasks``: what kernels can be scored on."""

from __future__ import annotations

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kcbench.cli.sources import TasksOption, open_source
from kcbench.errors import KcbenchError


class Form(StrEnum):
    """Pages that a task can be shown as."""

    markdown = "markdown"
    html = "html"


def print_tasks(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, on stdout.")] = False, tasks: TasksOption = None
) -> None:
    """List the tasks."""
    rows = _rows(open_source(tasks).root if tasks else None)
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


def _rows(root: Path | None) -> list[dict[str, Any]]:
    """What the list shows, read straight from the contracts: loading the tasks would check each file, and triple the time."""
    from kcbench.domain.schema import read_json
    from kcbench.paths import data_root
    from kcbench.tasks import list_tasks

    rows = []
    for name in list_tasks(root):
        path = (root or data_root()) / "tasks" / name / "contract.json"
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
    form: Annotated[
        Form | None, typer.Option("--format", help="As a page on stdout: markdown or html.", show_default=False)
    ] = None,
    tasks: TasksOption = None,
) -> None:
    """Show a task: its formula, its axes, what its contract asks, and which gates apply."""
    from kcbench.tasks import load_task

    found = load_task(task, open_source(tasks).root if tasks else None)
    if as_json:
        from kcbench.cli.output import STDOUT, write_json
        from kcbench.domain.schema import validate

        data = found.to_json()
        validate(data, "task", source=found.id)
        write_json(STDOUT, data)
        return
    from kcbench.report.card import task_card

    card = task_card(found)
    if form is not None:
        from kcbench.report.card_pages import card_html, card_markdown

        sys.stdout.write(card_markdown(card) if form is Form.markdown else card_html(card))
        return
    from rich.console import Console

    from kcbench.cli.describe import describe

    Console(highlight=False).print(describe(card))


def _short(dtype: str) -> str:
    return {"bfloat16": "bf16"}.get(dtype, dtype.replace("float", "fp"))
