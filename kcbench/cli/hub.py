"""``kcbench hub build`` and ``kcbench hub export``: what is made here before anything goes to the Hub."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kcbench.cli.options import QuietOption, RunArgument
from kcbench.cli.output import STDOUT, check_writable, write_text

RepoOption = Annotated[str, typer.Option(metavar="ORG/NAME", help="Repository of the dataset on the Hub.")]


class ExportFormat(StrEnum):
    """Formats in which others collect results."""

    eval_results = "eval-results"
    every_eval_ever = "every-eval-ever"


def build(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to make; a former build in it is replaced.", show_default=False)
    ],
    version: Annotated[
        str | None, typer.Option(metavar="V", help="Version of the dataset, the tag of its repository; kcbench's by default.")
    ] = None,
    repo: RepoOption = "",
    published: Annotated[str, typer.Option(metavar="DATE", help="Date of publication for the metadata, as 2026-01-31.")] = "",
    quiet: QuietOption = False,
) -> None:
    """Build the dataset: all tasks as Parquet, with a card and metadata.

    The folder can be loaded with datasets.load_dataset, and pushed to the Hub as it is.
    """
    from kcbench.hub.build import build as build_dataset
    from kcbench.report.text import count

    manifest = build_dataset(out, version=version, repo=repo, published=published)
    if not quiet:
        parts = ", ".join(f"{name} {rows}" for name, rows in manifest.configs.items())
        typer.echo(f"{out}: version {manifest.version}, {count(manifest.configs['all'], 'task')} ({parts})")


def export(
    run: RunArgument,
    format: Annotated[ExportFormat, typer.Option(help="Format of the file.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write; - for stdout.", show_default=False)],
    repo: RepoOption = "",
    model: Annotated[str, typer.Option(metavar="ORG/NAME", help="Model that wrote the kernels; by default their author.")] = "",
    author: Annotated[str, typer.Option(metavar="NAME", help="Only submissions of this author.")] = "",
    organization: Annotated[str, typer.Option(metavar="NAME", help="Who ran kcbench (for every-eval-ever).")] = "",
    source: Annotated[str, typer.Option(metavar="URL", help="Where the run can be looked at.")] = "",
) -> None:
    """Write the scores of a run in a format that others collect.

    A score is the share of a level's tasks that were solved: tasks without a submission count as unsolved.
    """
    import json

    from kcbench.hub.eval_results import eval_results
    from kcbench.hub.every_eval_ever import every_eval_ever
    from kcbench.hub.scores import score_run
    from kcbench.hub.yaml_text import yaml_text
    from kcbench.report.store import RunFolder

    check_writable(out)
    with RunFolder.open(run) as folder:
        scores = score_run(folder.results(), folder.header, author=author)
    if format is ExportFormat.eval_results:
        text = yaml_text(eval_results(scores, repo=repo, source=source))
    else:
        record = every_eval_ever(scores, model=model, repo=repo, organization=organization, source=source)
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    if out == STDOUT:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
