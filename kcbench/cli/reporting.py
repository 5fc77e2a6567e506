"""Telling what a run found: files in its folder, a table on the terminal, JSON."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from kcbench.cli.output import STDOUT, report_json, write_json
from kcbench.report import eval_results, html, markdown
from kcbench.report.journal import plain
from kcbench.report.store import RunFolder
from kcbench.report.summary import gaps
from kcbench.report.table import print_report


def write_reports(folder: RunFolder, *, without: Sequence[str] = ()) -> None:
    """Write ``report.md``, ``report.html`` and ``results.parquet`` into the run folder.

    Where the submissions come from KernelBench, the files that its own scripts read are written, too.
    """
    results, name = folder.results(), str(folder.path)
    folder.write("report.md", markdown.render(results, folder.header, run=name, without=without))
    folder.write("report.html", html.render(results, folder.header, run=name, without=without))
    folder.write_parquet()
    shaped = eval_results.files(results, folder.header)
    for name in eval_results.FLAT if any("/" in name for name in shaped) else ():
        folder.remove(name)  # A report that was made when the run had one level only.
    for name, data in shaped.items():
        folder.write(name, json_text.dumps(plain(data), indent=4, allow_nan=False) + "\n")


def tell(folder: RunFolder, *, json: Path | None, quiet: bool, without: Sequence[str] = ()) -> None:
    """Print the table and the gap, say where to read on, and write the JSON file."""
    results = folder.results()
    if not quiet:
        console = Console(stderr=json == STDOUT)
        print_report(console, results, folder.header, without=without)
        lines = [f"Run folder: {folder.path} (report.html, report.md, results.parquet)"]
        refused = next((item for item in results if item.codes), None)
        if refused is not None:
            lines.append(f"Why one was refused: kcbench show {folder.path} {refused.id}")
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if json is not None:
        write_json(json, report_json(folder.header, results, gaps(results, folder.header, without=without)))
