"""``kcbench calibrate``: what honest and broken kernels say of the gates' free constants, and whether it still holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcbench.cli.exits import REFUSED
from kcbench.cli.options import JobsOption, QuietOption, require_torch
from kcbench.cli.output import write_text
from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from rich.console import Console

    from kcbench.calibration.sections import Section


def calibrate(
    variants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What kcbench redteam --variants N --json FILE wrote: honest kernels.")
    ] = None,
    mutants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What kcbench redteam --mutants N --json FILE wrote: planted faults.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Commit the figures: constants.json, docs/calibration.md and its picture.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Make a part of both studies anew, and compare with the committed figures.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="With --check: take few kernels, in torch only.")] = False,
    jobs: JobsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Show what a study says of the gates' constants, or check the committed one.

    With --variants and --mutants, prints the figures of a study, and which values it admits for each constant. The values are
    changed by hand, in constants.json.

    With --check, exits with 1 where a figure does not hold.
    """
    if check:
        if variants is not None or mutants is not None or write:
            raise KcbenchError("makes its own studies", where="--check", fix="leave --variants, --mutants and --write away")
        raise typer.Exit(_check(quick, jobs, quiet))
    for option in (name for name, value in {"--quick": quick, "--jobs": jobs}.items() if value):
        raise KcbenchError("goes with --check only", where=option, fix="add --check, or leave it away")
    if variants is None or mutants is None:
        raise KcbenchError("both files of a study are needed", where="--variants, --mutants", fix="or give --check alone")
    _tell(variants, mutants, write, quiet)


def _tell(variants: Path, mutants: Path, write: bool, quiet: bool) -> None:
    import dataclasses
    import json

    from rich.console import Console

    from kcbench.calibration import committed, figures, fit, page, picture, rows
    from kcbench.calibration.sections import sections
    from kcbench.numerics.constants import PATH, constants

    docs = _docs() if write else None
    honest, broken = rows.read_honest(variants), rows.read_broken(mutants)
    measured, values = figures.measure(honest, broken), dataclasses.asdict(constants())
    fits = fit.fit(values, honest, broken)
    trials = fit.try_out(values, honest, broken, figures.held_out_tasks(honest, broken))
    found = sections(measured, fits, trials)
    # Whoever reads only the first lines of what is printed wants the files all the same.
    if docs is not None:
        text = committed.renewed(measured, fits, honest, broken)
        write_text(docs / page.PICTURE, picture.picture(measured.spreads))
        write_text(docs / "calibration.md", page.page(found, json.loads(text)))
        write_text(PATH, text)
    if not quiet:
        for section in found:
            _print(Console(), section)


def _docs() -> Path:
    """The folder of the documentation, which only a checkout has.

    Raises:
        KcbenchError: There is none.
    """
    from kcbench.paths import data_root

    docs = data_root() / "docs"
    if not (docs / "images").is_dir():
        raise KcbenchError("needs a checkout of kcbench, with its docs", where="--write", fix="leave it away")
    return docs


def _print(console: Console, section: Section) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(section.head):
        table.add_column(Text(name), justify="left" if place < section.left else "right")
    for row in section.rows:
        table.add_row(*map(Text, row))
    console.print(Text(section.title, style="bold"))
    console.print(table)
    console.print(Text(section.words, style="dim"))
    console.print()


def _check(quick: bool, jobs: int | None, quiet: bool) -> int:
    from rich.console import Console
    from rich.table import Table

    from kcbench.calibration.check import check
    from kcbench.calibration.committed import Committed

    require_torch()
    findings = check(Committed.read(), quick=quick, jobs=jobs, quiet=quiet)
    if not quiet:
        table = Table("figure", "committed", "now", "", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for item in findings:
            said, style = ("", "") if item.holds else ("does not hold", "red")
            table.add_row(item.what, item.committed, item.found, said, style=style)
        Console().print(table)
    return 0 if all(item.holds for item in findings) else REFUSED
