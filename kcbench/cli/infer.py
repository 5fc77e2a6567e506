"""``kcbench contract infer``: contracts for KernelBench-format problems, by experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcbench.cli.exits import BUG
from kcbench.cli.options import JobsOption, JsonOption, QuietOption, count_jobs, require_torch
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.domain.task import Task
    from kcbench.suites.kernelbench import Problem


def infer(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A problem file, or a KernelBench checkout or folder of problems.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write each as <level>/<name>/{task.py,contract.json} below this folder.")
    ] = None,
    jobs: JobsOption = None,
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Infer contracts from problems, and show which gates can be applied to each.

    Problems are run: they are trusted as much as any Python file that you run. Exits with 2 if no problem could be read, 3 if
    kcbench itself failed on one.
    """
    from kcbench.cli.inference import infer_problems
    from kcbench.cli.output import check_writable, write_json

    check_writable(json)
    problems = _problems(path)
    require_torch()
    made = infer_problems(problems, jobs=count_jobs(jobs), quiet=quiet)
    if out is not None:
        for task in made.tasks.values():
            _write(out, task)
    rows = [_row(name, made.tasks.get(name), made.unusable.get(name) or made.failed.get(name, "")) for name in problems]
    if json is not None:
        write_json(json, rows)
    if not quiet:
        _print(rows)
    if made.failed:
        raise typer.Exit(BUG)
    if not made.tasks:
        raise KcbenchError("no contract could be inferred", where=str(path), fix=next(iter(made.unusable.values()), ""))


def _problems(path: Path) -> dict[str, Problem]:
    """Problems by task id, in order."""
    from kcbench.suites.kernelbench import load_problems, read_problem

    if not path.exists():
        raise KcbenchError("no such file or folder", where=str(path))
    if path.is_file():
        problem = read_problem(path)
        return {problem.task_id: problem}
    try:
        found = list(load_problems(path).values())
    except KcbenchError:
        found = [read_problem(file) for file in sorted(path.glob("*.py"))]
        if not found:
            raise
    return {problem.task_id: problem for problem in found}


def _row(name: str, task: Task | None, reason: str) -> dict[str, Any]:
    from kcbench.report.catalog import GATES

    if task is None:
        return {"task": name, "inferred": False, "reason": reason, "gates": [], "untestable": {}, "axes": {}}
    contract = task.contract
    return {
        "task": name,
        "inferred": True,
        "reason": "",
        "gates": list(contract.applicable([gate.id for gate in GATES])),
        "untestable": dict(contract.untestable),
        "axes": {axis: {"gate": entry.gate, "varies": entry.varies} for axis, entry in contract.axes.items()},
    }


def _print(rows: list[dict[str, Any]]) -> None:
    """One line a problem: a mark per gate, then the sizes or the reason; at last how many."""
    from kcbench.report.catalog import GATES

    width = max(len(row["task"]) for row in rows)
    print(f"{'TASK'.ljust(width)}  {' '.join(gate.short for gate in GATES)}  SIZES")
    for row in rows:
        if not row["inferred"]:
            print(f"{row['task'].ljust(width)}  {row['reason']}")
            continue
        marks = ["+" if gate.id in row["gates"] else "-" for gate in GATES]
        sizes = " ".join(f"{name}={entry['gate']}" for name, entry in row["axes"].items())
        print(
            f"{row['task'].ljust(width)}  "
            f"{' '.join(mark.ljust(len(gate.short)) for mark, gate in zip(marks, GATES, strict=True))}  {sizes}"
        )
    done = sum(row["inferred"] for row in rows)
    print(f"{done} of {len(rows)} contracts inferred (+ applies; - does not, and --json or the contract says why)")


def _write(out: Path, task: Task) -> None:
    from kcbench.domain.json_text import json_text

    folder = out / task.id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.py").write_text(task.code, encoding="utf-8")
    (folder / "contract.json").write_text(json_text(task.contract.raw), encoding="utf-8")
