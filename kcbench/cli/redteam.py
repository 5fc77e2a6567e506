"""``kcbench redteam``: judge the gates by kernels whose verdict is known."""

from __future__ import annotations

from typing import Annotated

import typer

from kcbench.cli.options import Device, DeviceOption, JobsOption, JsonOption, QuietOption, SeedOption, draw_seed, require_torch
from kcbench.cli.output import STDOUT, check_writable, report_json, write_json
from kcbench.errors import KcbenchError


def redteam(
    device: DeviceOption = Device.auto,
    jobs: JobsOption = None,
    seed: SeedOption = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Only kernels for this task.")] = None,
    only: Annotated[str, typer.Option(metavar="TEXT", help="Only kernels whose id contains this text.")] = "",
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Judge the gates by kernels whose verdict is known.

    Scores broken kernels, and honest ones that look suspicious, and prints the matrix kernel x gate. Exits with 1 on any broken
    kernel that passed, honest kernel that was refused, or broken kernel that was refused for the wrong reason.
    """
    from rich.console import Console

    from kcbench.cli.header import command_line, run_header
    from kcbench.cli.scoring import load_tasks, make_options, score
    from kcbench.redteam.catalog import load_catalog
    from kcbench.redteam.matrix import judge, render

    check_writable(json)
    entries = [entry for entry in load_catalog() if task in (None, entry.task) and only in entry.id]
    if not entries:
        raise KcbenchError("no red-team kernel fits", where="--task, --only", fix="leave one of them away")
    require_torch()
    options = make_options(seed=seed or draw_seed(), device=device.value, jobs=jobs, legacy=())
    submissions = [entry.submission() for entry in entries if entry.requires in ("", options.device)]
    tasks = load_tasks(submissions)
    results = score(submissions, options, tasks, keep=lambda _result: None, quiet=quiet) if submissions else []
    matrix = judge(entries, results, device=options.device)
    if not quiet:
        Console(stderr=json == STDOUT).print(render(matrix))
    if json is not None:
        header = run_header(options, tasks, command=command_line(), extra={"redteam": True, "task": task, "only": only})
        write_json(json, report_json(header, sorted(results, key=lambda item: item.id), ()))
    raise typer.Exit(matrix.exit_code)
