"""``kcbench redteam``: judge the gates by kernels whose verdict is known, by planted faults, or by proven honest kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from kcbench.cli.asked import Asked
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
    variants: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="Prove and score N honest kernels instead, in equal shares by task and language."),
    ] = None,
    fault: Annotated[str, typer.Option(metavar="LIST", help="With --mutants: only these fault classes, for example index.")] = "",
    equivalents: Annotated[
        bool,
        typer.Option("--equivalents", help="With --mutants: ask the gates about those that are not shown to be faulty, too."),
    ] = False,
    every_gate: Annotated[
        bool, typer.Option("--every-gate", help="With --mutants: ask all gates, and not only until one refuses.")
    ] = False,
    language: Annotated[
        Language | None, typer.Option(help="With --mutants or --variants: only kernels in this language.")
    ] = None,
    checkers: Annotated[
        bool, typer.Option("--checkers", help="With --mutants or --variants: ask other published checks about them, too.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --mutants or --variants: go on with the study that --json holds.")
    ] = False,
) -> None:
    """Judge the gates by kernels whose verdict is known.

    Scores broken kernels, and honest ones that look suspicious, and prints the matrix kernel x gate. Exits with 1 on any broken
    kernel that passed, honest kernel that was refused, or broken kernel that was refused for the wrong reason.

    With --mutants, plants faults in honest kernels, looks for inputs inside the contract on which they are wrong, and asks the
    gates about those that are. Prints a table by fault class, and every one that survived; --json gets one line for each. Exits
    with 1 if one survived or an honest kernel was refused, and with 3 if a gate failed.

    With --variants, proves that kernels which are written in hundreds of ways are honest, without asking a gate, and then asks
    the gates about them. Prints a table by task, and every one that was refused; --json gets one line for each. Exits with 1 if
    one that is proven was refused, and with 3 if a gate or the proof failed.
    """
    from rich.console import Console

    from kcbench.cli.header import command_line, run_header
    from kcbench.cli.scoring import load_tasks, make_options, score
    from kcbench.redteam.catalog import load_catalog
    from kcbench.redteam.matrix import judge, render

    check_writable(json)
    _check_together(
        mutants is not None,
        variants is not None,
        for_mutants={"--fault": fault, "--equivalents": equivalents, "--every-gate": every_gate},
        for_both={"--language": language, "--checkers": checkers, "--resume": resume},
    )
    asked = Asked(seed, device.value, count_jobs(jobs), task, only, language, checkers, json, resume, quiet)
    if mutants is not None:
        from kcbench.cli.mutants import study as study_mutants

        raise typer.Exit(study_mutants(asked, mutants, fault=fault, equivalents=equivalents, every_gate=every_gate))
    if variants is not None:
        from kcbench.cli.variants import study as study_variants

        raise typer.Exit(study_variants(asked, variants))
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


def _check_together(mutants: bool, variants: bool, *, for_mutants: Mapping[str, object], for_both: Mapping[str, object]) -> None:
    """Raise KcbenchError where options do not go together.

    Args:
        mutants: Mutants are asked for.
        variants: Variants are asked for.
        for_mutants: Options that only a study of mutants has, by name.
        for_both: Options that both studies have.
    """
    if mutants and variants:
        raise KcbenchError("does not go with --mutants", where="--variants", fix="study one after the other")
    for option in (name for name, value in for_mutants.items() if value and not mutants):
        raise KcbenchError("goes with --mutants only", where=option, fix="add --mutants N, or leave it away")
    for option in (name for name, value in for_both.items() if value and not (mutants or variants)):
        fix = "add --mutants N or --variants N, or leave it away"
        raise KcbenchError("goes with --mutants or --variants only", where=option, fix=fix)
