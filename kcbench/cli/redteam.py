"""``kcbench redteam``: judge the gates by kernels whose verdict is known, or by faults planted in honest ones."""

from __future__ import annotations

from typing import Annotated

import typer

from kcbench.cli.options import (
    Device,
    DeviceOption,
    JobsOption,
    JsonOption,
    Language,
    QuietOption,
    SeedOption,
    count_jobs,
    draw_seed,
    require_torch,
)
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
    mutants: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Plant N faults in honest kernels instead, in equal shares by class.")
    ] = None,
    fault: Annotated[str, typer.Option(metavar="LIST", help="With --mutants: only these fault classes, for example index.")] = "",
    language: Annotated[Language | None, typer.Option(help="With --mutants: only kernels in this language.")] = None,
    equivalents: Annotated[
        bool,
        typer.Option("--equivalents", help="With --mutants: ask the gates about those that are not shown to be faulty, too."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="With --mutants: go on with the study that --json holds.")] = False,
) -> None:
    """Judge the gates by kernels whose verdict is known.

    Scores broken kernels, and honest ones that look suspicious, and prints the matrix kernel x gate. Exits with 1 on any broken
    kernel that passed, honest kernel that was refused, or broken kernel that was refused for the wrong reason.

    With --mutants, plants faults in honest kernels, looks for inputs inside the contract on which they are wrong, and asks the
    gates about those that are. Prints a table by fault class, and every one that survived; --json gets one line for each. Exits
    with 1 if one survived or an honest kernel was refused, and with 3 if a gate failed.
    """
    from rich.console import Console

    from kcbench.cli.header import command_line, run_header
    from kcbench.cli.scoring import load_tasks, make_options, score
    from kcbench.redteam.catalog import load_catalog
    from kcbench.redteam.matrix import judge, render

    check_writable(json)
    if mutants is not None:
        from kcbench.cli.mutants import Asked, study

        wanted = Asked(
            mutants, seed, device.value, count_jobs(jobs), task, only, fault, language, equivalents, json, resume, quiet
        )
        raise typer.Exit(study(wanted))
    given = {"--fault": fault, "--language": language, "--equivalents": equivalents, "--resume": resume}
    for option in (name for name, value in given.items() if value):
        raise KcbenchError("goes with --mutants only", where=option, fix="add --mutants N, or leave it away")
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
