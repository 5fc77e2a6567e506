"""Where the submissions of a run come from: kcbench's own layout, one problem file, or a published suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.domain.submission import Submission
    from kcbench.hub.source import Source
    from kcbench.suites.kernelbench import Problem


class Suite(StrEnum):
    """Published suites whose layouts can be read."""

    kernelbench = "kernelbench"


SuiteOption = Annotated[
    Suite | None, typer.Option(help="Read PATH as a run of this suite: a folder of kernels, or rows.", show_default=False)
]
SuiteDirOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Checkout of the suite, whose contracts are inferred; by default kcbench's own tasks for its problems.",
    ),
]
MappingOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="JSON or CSV that says which problem each file is for, 1/36 for example.")
]
ProblemOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Problem of all submissions: a file with Model and get_inputs.")
]
TasksOption = Annotated[
    str | None,
    typer.Option(
        "--tasks", metavar="FROM", help="Other tasks than kcbench's own: hf://ORG/NAME@TAG, or a folder.", show_default=False
    ),
]
RefFieldOption = Annotated[str, typer.Option(metavar="NAME", help="PATH is JSON Lines: field with the code of the problem.")]
CodeFieldOption = Annotated[str, typer.Option(metavar="NAME", help="Field with the code of the kernel.")]
LevelFieldOption = Annotated[str, typer.Option(metavar="NAME", help="Field with the level, if there is one.")]
ProblemFieldOption = Annotated[str, typer.Option(metavar="NAME", help="Field with the problem id, if there is one.")]
SampleFieldOption = Annotated[str, typer.Option(metavar="NAME", help="Field with the sample id, if there is one.")]


@dataclass(frozen=True)
class SourceOptions:
    """What the command line says about where submissions come from."""

    task: str | None = None
    problem: Path | None = None
    suite: Suite | None = None
    suite_dir: Path | None = None
    mapping: Path | None = None
    ref_field: str = ""
    code_field: str = ""
    level_field: str = ""
    problem_field: str = ""
    sample_field: str = ""
    tasks: str | None = None

    def named(self) -> dict[str, Any]:
        """The options that were given, for ``run.json``."""
        return {name: str(value) for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Sources:
    """Submissions, and the problems that they are for where these are not tasks of kcbench."""

    submissions: list[Submission]
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """By task id."""
    suite_sizes: Mapping[str, int] = field(default_factory=dict)
    """How many problems each level of the suite has."""
    tasks: Source | None = None
    """Where the tasks come from that are not kcbench's own."""

    @property
    def root(self) -> Path | None:
        """Folder of the tasks; None for those that came with kcbench."""
        return None if self.tasks is None else self.tasks.root


def collect(paths: Sequence[Path], options: SourceOptions) -> Sources:
    """Find the submissions.

    Raises:
        KcbenchError: The options do not go together, or what they name cannot be read.
    """
    _check(paths, options)
    if options.problem is not None:
        return _for_problem(paths, options.problem)
    if options.suite is None:
        from kcbench.suites.folder import discover
        from kcbench.tasks import list_tasks

        tasks = open_source(options.tasks) if options.tasks else None
        known = list_tasks(None if tasks is None else tasks.root)
        return Sources(discover(paths, task=options.task, known=known), tasks=tasks)
    return _rows(paths[0], options) if options.ref_field else _run(paths[0], options)


def open_source(spec: str) -> Source:
    """Where ``--tasks`` points, with the progress of a download where somebody looks at it.

    Raises:
        KcbenchError: There are no tasks, or they cannot be used.
    """
    from kcbench.cli.hub_remote import show_bars
    from kcbench.hub.source import open_tasks

    return open_tasks(spec, bars=show_bars(False))


def _check(paths: Sequence[Path], options: SourceOptions) -> None:
    if options.tasks and (options.problem or options.suite_dir or options.ref_field):
        fix = "leave --tasks away"
        raise KcbenchError("the submissions bring their own problems", where="--tasks", fix=fix)
    given = [
        option
        for option, value in (("--task", options.task), ("--problem", options.problem), ("--suite", options.suite))
        if value is not None
    ]
    if len(given) > 1:
        raise KcbenchError("only one of them can say what the submissions are for", where=", ".join(given))
    rows = {
        "--ref-field": options.ref_field,
        "--code-field": options.code_field,
        "--level-field": options.level_field,
        "--problem-field": options.problem_field,
        "--sample-field": options.sample_field,
    }
    of_rows = next((name for name, value in rows.items() if value), "")
    of_folder = "--suite-dir" if options.suite_dir else "--mapping" if options.mapping else ""
    if options.suite is None:
        if of_rows or of_folder:
            raise KcbenchError("is for runs of a suite", where=of_rows or of_folder, fix="add --suite kernelbench")
        return
    if len(paths) > 1:
        fix = "score them one by one: kernels of two runs have the same sample ids"
        raise KcbenchError(f"expected one folder or file of kernels, found {len(paths)}", where="--suite", fix=fix)
    if of_rows and of_folder:
        raise KcbenchError("rows bring their own problems", where=f"{of_folder}, {of_rows}", fix=f"leave {of_folder} away")
    if of_rows and not (options.ref_field and options.code_field):
        raise KcbenchError("rows need both --ref-field and --code-field", where=of_rows)


def _for_problem(paths: Sequence[Path], path: Path) -> Sources:
    from kcbench.suites.folder import discover
    from kcbench.suites.kernelbench import read_problem
    from kcbench.suites.kernelbench_runs import refuse_copy

    problem = read_problem(path)
    if problem.defect:
        raise KcbenchError(problem.defect, where=str(path))
    found = discover(paths, task=problem.task_id, known=[problem.task_id], published=True)
    return Sources([refuse_copy(item, problem) for item in found], {problem.task_id: problem})


def _rows(path: Path, options: SourceOptions) -> Sources:
    from kcbench.suites.rows import Fields, read_rows

    fields = Fields(options.ref_field, options.code_field, options.level_field, options.problem_field, options.sample_field)
    return Sources(*read_rows(path, fields))


def _run(path: Path, options: SourceOptions) -> Sources:
    from kcbench.suites.kernelbench import load_problems
    from kcbench.suites.kernelbench_runs import read_run
    from kcbench.suites.shipped import shipped_problems

    tasks = open_source(options.tasks) if options.tasks else None
    root = None if tasks is None else tasks.root
    problems = shipped_problems(root) if options.suite_dir is None else load_problems(options.suite_dir)
    found = read_run(path, problems, mapping=options.mapping)
    sizes: dict[str, int] = {}
    for level, _ in problems:
        sizes[str(level)] = sizes.get(str(level), 0) + 1
    if options.suite_dir is None:  # These are tasks already: nothing is inferred.
        return Sources(found, suite_sizes=sizes, tasks=tasks)
    return Sources(found, {problem.task_id: problem for problem in problems.values()}, sizes)
