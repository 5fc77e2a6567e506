"""``kcbench eval``: score submissions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kcbench.cli.exits import BUG, REFUSED
from kcbench.cli.options import (
    Bounds,
    BoundsOption,
    Device,
    DeviceOption,
    JobsOption,
    JsonOption,
    QuietOption,
    SeedOption,
    draw_seed,
    require_torch,
    split_names,
)
from kcbench.cli.output import check_writable
from kcbench.cli.sources import (
    CodeFieldOption,
    LevelFieldOption,
    MappingOption,
    ProblemFieldOption,
    ProblemOption,
    RefFieldOption,
    SampleFieldOption,
    SourceOptions,
    SuiteDirOption,
    SuiteOption,
    TasksOption,
    collect,
)
from kcbench.errors import KcbenchError

RUNS = Path("runs")
"""Where run folders are made unless ``--out`` says otherwise."""


def evaluate(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Python files with a class ModelNew, and folders of them.", show_default=False),
    ],
    task: Annotated[str | None, typer.Option(metavar="ID", help="Task of all submissions, for example level1/softmax.")] = None,
    tasks: TasksOption = None,
    problem: ProblemOption = None,
    suite: SuiteOption = None,
    suite_dir: SuiteDirOption = None,
    mapping: MappingOption = None,
    ref_field: RefFieldOption = "",
    code_field: CodeFieldOption = "",
    level_field: LevelFieldOption = "",
    problem_field: ProblemFieldOption = "",
    sample_field: SampleFieldOption = "",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder; runs/<time> if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out, or with the latest one.")] = False,
    device: DeviceOption = Device.auto,
    jobs: JobsOption = None,
    seed: SeedOption = None,
    json: JsonOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a submission is refused.")] = False,
    bounds: BoundsOption = Bounds.stochastic,
    gates: Annotated[str, typer.Option(metavar="LIST", help="Only these gates, for example CMP-01,EXC-01.")] = "",
    legacy: Annotated[
        str | None, typer.Option(metavar="LIST", help="Legacy checks to run beside the gates; 'none' for none.")
    ] = None,
    timing: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Baselines to time against; 'none' for none. By default eager on a GPU."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", min=1, help="Seconds for one submission, all its calls together.")
    ] = None,
    memory: Annotated[float | None, typer.Option(metavar="GB", min=0.25, help="Memory for one submission.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Score submissions.

    Each one meets the legacy checks and the contract gates. Exits with 0 when the harness worked, 1 with --strict when one was
    refused, 2 on bad input, 3 when the harness failed.
    """
    from kcbench.cli.header import command_line, run_header
    from kcbench.cli.inference import infer_tasks
    from kcbench.cli.reporting import tell, write_reports
    from kcbench.cli.scoring import load_tasks, make_options, require_scorable, require_tasks, score, without_task
    from kcbench.report.catalog import GATES
    from kcbench.report.store import RunFolder, problem_name

    check_writable(json)
    wanted = split_names(gates, [gate.id for gate in GATES], "--gates")
    source = SourceOptions(
        task, problem, suite, suite_dir, mapping, ref_field, code_field, level_field, problem_field, sample_field, tasks
    )
    found = collect(paths, source)
    submissions = found.submissions
    require_scorable(submissions)
    folder_path = _folder_path(out, resume, paths)
    require_torch()

    from kcbench.engine import LEGACY

    options = make_options(
        seed=seed or _seed_of(folder_path, resume) or draw_seed(),
        device=device.value,
        jobs=jobs,
        bounds=bounds.value,
        gates=wanted,
        legacy=None if legacy is None else () if legacy == "none" else split_names(legacy, LEGACY, "--legacy"),
        timing=timing,
        time_limit=time_limit,
        memory=memory,
    )
    inferred = infer_tasks(found.problems, submissions, jobs=options.jobs, quiet=quiet)
    require_tasks(submissions, inferred)
    lost = without_task(submissions, inferred, options)
    loaded = inferred.tasks if found.problems else load_tasks(submissions, found.root)
    extra = {"paths": [str(path) for path in paths], "task": task, **source.named(), "suite_sizes": dict(found.suite_sizes)}
    if found.tasks is not None:
        extra["tasks"] = found.tasks.name  # By its commit, so that the same tasks are found again.
    header = run_header(options, loaded, command=command_line(), extra=extra)
    with RunFolder.create(folder_path, header) as folder:
        for name in inferred.tasks:
            folder.write(problem_name(name), found.problems[name].code)
        for result in lost:
            folder.append(result)
        blocked = {result.id for result in lost}
        todo = [item for item in submissions if item.id not in blocked]
        again = [*command_line(), *(() if resume else ("--resume",)), *(() if out else ("--out", str(folder_path)))]
        score(todo, options, loaded, keep=folder.append, done=folder.completed_keys(), quiet=quiet, resume=again)
        write_reports(folder)
        tell(folder, json=json, quiet=quiet)
        results = folder.results()
    if any(item.status == "error" or any(verdict.status == "ERROR" for verdict in item.verdicts) for item in results):
        raise typer.Exit(BUG)
    if strict and any(item.refused for item in results):
        raise typer.Exit(REFUSED)


def _folder_path(out: Path | None, resume: bool, paths: Sequence[Path]) -> Path:
    if out is not None:
        if any(path.is_dir() and out.exists() and out.samefile(path) for path in paths):
            raise KcbenchError("is the folder of the kernels", where=str(out), fix="choose another folder for the run")
        has_run = (out / "run.json").exists()
        if has_run and not resume:
            raise KcbenchError(
                "holds a run already", where=str(out), fix="add --resume to go on with it, or choose another folder"
            )
        if resume and not has_run:
            raise KcbenchError("holds no run to go on with", where=str(out), fix="leave --resume away to begin one")
        return out
    if resume:
        runs = [path.parent for path in RUNS.glob("*/run.json")]
        if not runs:
            raise KcbenchError("there is no run to go on with", where=str(RUNS), fix="name its folder with --out")
        return max(runs, key=lambda path: (path / "run.json").stat().st_mtime)
    name = time.strftime("%Y%m%d-%H%M%S")
    return next(path for number in range(1, 1000) if not (path := RUNS / (name if number == 1 else f"{name}-{number}")).exists())


def _seed_of(folder: Path, resume: bool) -> str | None:
    """The seed of the run that is resumed: without it, nothing could be kept."""
    if not resume:
        return None
    from kcbench.report.store import RunFolder

    with RunFolder.open(folder) as run:
        return str(run.header["seed"])
