"""The report on a terminal: one row per submission, then the gap. Letters carry the meaning, colour only helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kcbench.domain.result import Result
from kcbench.report import fast_p_words, summary
from kcbench.report.catalog import (
    ERROR,
    GATES,
    LOUD,
    MARKS,
    NO_VERDICT,
    NOT_APPLICABLE,
    PASSED,
    REFERENCE_INVALID,
    SILENT,
    Mark,
    mark,
)
from kcbench.report.explain import outcome
from kcbench.report.fast_p import Scores, measure
from kcbench.report.gap import Gap, accepts, legacy_score
from kcbench.report.text import clean, one_line

WIDE, MIDDLE = 128, 100
"""Terminal widths from which each gate has a column of its own, and from which codes and tasks are not wrapped."""

STYLES: Mapping[Mark, str] = {
    PASSED: "green",
    SILENT: "bold red",
    LOUD: "bold yellow",
    NOT_APPLICABLE: "dim",
    REFERENCE_INVALID: "magenta",
    ERROR: "reverse",
    NO_VERDICT: "dim",
}
_OUTCOMES = {"clean": "green", "refused": "bold red", "unloadable": "bold yellow", "skipped": "dim", "error": "reverse"}
_LEGACY_NAMES = {"kernelbench-v0": "v0", "kernelbench-v1": "v1"}


def print_report(console: Console, results: Sequence[Result], header: Mapping[str, Any], *, without: Sequence[str] = ()) -> None:
    """Print the table of submissions, the gap panels, and fast_p where the submissions come from a suite.

    Args:
        console: Where to; its width decides the layout (80 columns and up).
        results: What the run says.
        header: ``run.json``.
        without: Codes to set aside in the gap.

    Raises:
        KcbenchError: ``without`` names a code or gate that does not exist.
    """
    gaps = summary.gaps(results, header, without=without)
    console.print(submissions(results, [gap.check for gap in gaps], width=console.width))
    console.print(legend())
    for number, gap in enumerate(gaps):
        console.print(gap_panel(gap, brief=number > 0))
    scores = measure(results, header)
    if scores is not None:
        console.print(suite_panel(scores, header))


def submissions(results: Sequence[Result], checks: Sequence[str], *, width: int) -> RenderableType:
    """The table of submissions, sorted by id; each gate has a column, or one character of a strip on a narrow terminal."""
    if not results:
        return Text("No results yet.")
    wide = width >= WIDE
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", width=width)
    roomy = width >= MIDDLE
    table.add_column("id", ratio=3 if roomy else 1, overflow="fold")
    table.add_column("task", ratio=2 if roomy else 1, overflow="fold")
    table.add_column("lang" if roomy else "lng", no_wrap=True, max_width=6 if roomy else 3)
    for check in checks:
        table.add_column(_LEGACY_NAMES.get(check, one_line(check, limit=6)), no_wrap=True)
    if wide:
        for gate in GATES:
            table.add_column(gate.short, no_wrap=True, justify="center")
    else:
        table.add_column("GCCCOOOPPEERR\n 123123121212", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("first code", overflow="fold", no_wrap=roomy, ratio=None if roomy else 1)
    for result in sorted(results, key=lambda item: item.id):
        marks = [mark(result.verdict(gate.id)) for gate in GATES]
        cells = [Text(item.symbol, STYLES[item]) for item in marks]
        ended = outcome(result)
        table.add_row(
            Text(clean(result.id)),
            Text(clean(result.task)),
            Text(one_line(result.submission.get("language", ""))[: 6 if roomy else 3]),
            *(_legacy(result, check) for check in checks),
            *(cells if wide else [Text.assemble(*cells)]),
            Text(ended, _OUTCOMES[ended]),
            Text(one_line(result.codes[0]) if result.codes else ""),
        )
    return table


def legend() -> RenderableType:
    """What the letters mean."""
    return Padding(
        Columns([Text.assemble((item.symbol, STYLES[item]), f" {item.name}") for item in MARKS], padding=(0, 3)), (1, 0)
    )


def gap_panel(gap: Gap, *, brief: bool = False) -> Panel:
    """The gap in words, with its 2x2 table."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="dim")
    table.add_column("")
    table.add_column("contract: clean", justify="right")
    table.add_column("contract: refused", justify="right")
    table.add_row("legacy: accepts", str(gap.table.accepted_clean), Text(str(gap.table.accepted_refused), "bold red"))
    table.add_row("legacy: rejects", str(gap.table.rejected_clean), str(gap.table.rejected_refused))
    lines = [Text(f"- {line}") for line in summary.statements(gap, brief=brief)]
    body = Group(Text(summary.headline(gap), "bold"), Text(), table, Text(), *lines)
    return Panel(body, title=Text(f"rigor gap against {one_line(gap.check)}"), title_align="left", border_style="dim")


def suite_panel(scores: Scores, header: Mapping[str, Any]) -> Panel:
    """fast_p and pass@k, with what has to be known to read them."""
    parts: list[RenderableType] = []
    for grid in fast_p_words.grids(scores):
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
        for number, name in enumerate(grid.head):
            head = Text(name.replace(" ", "\n").replace("_", "_\n"))  # Two lines, so that all columns fit into 80 characters.
            table.add_column(head, justify="left" if number < grid.words else "right", overflow="fold")
        for row in grid.rows:
            table.add_row(*map(Text, row))
        parts += [table, Text()]
    parts += [Text(f"- {line}") for line in fast_p_words.notes(scores, header)]
    return Panel(Group(*parts), title=Text(fast_p_words.TITLE), title_align="left", border_style="dim")


def _legacy(result: Result, check: str) -> Text:
    score = legacy_score(result, check)
    if score is None:
        return Text("--", "dim")
    return Text("ok", "green") if accepts(score) else Text("no", "red")
