"""``kcbench report``: read a run again."""

from __future__ import annotations

from typing import Annotated

import typer

from kcbench.cli.options import JsonOption, QuietOption, RunArgument
from kcbench.cli.output import check_writable


def report(
    run: RunArgument,
    without: Annotated[
        str, typer.Option(metavar="LIST", help="Codes or gates to set aside in the gap, for example PRC-01.tf32.")
    ] = "",
    json: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Print the report of a run again.

    The run's report.md, report.html and results.parquet are made anew, too.
    """
    from kcbench.cli.reporting import tell, write_reports
    from kcbench.report.store import RunFolder

    check_writable(json)
    codes = tuple(filter(None, (item.strip() for item in without.split(","))))
    with RunFolder.open(run) as folder:
        write_reports(folder, without=codes)
        tell(folder, json=json, quiet=quiet, without=codes)
