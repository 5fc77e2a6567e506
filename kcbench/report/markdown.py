"""``report.md``: the report as Markdown, for a repository, an issue or a terminal pager."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kcbench.domain.result import Result
from kcbench.report import fast_p_words, summary
from kcbench.report.catalog import GATES, MARKS, Mark, gate_info, mark
from kcbench.report.explain import explain_result, headline, outcome
from kcbench.report.fast_p import measure
from kcbench.report.gap import Gap, accepts, legacy_score
from kcbench.report.html import repro_command
from kcbench.report.text import clean, markdown, one_line, percent, percents


def render(results: Sequence[Result], header: Mapping[str, Any], *, run: str = "RUN", without: Sequence[str] = ()) -> str:
    """The report as Markdown text.

    Args:
        results: What the run says.
        header: ``run.json``.
        run: Path of the run folder as a reader would type it, for the commands.
        without: Codes to set aside in the gap; the tables of submissions still show them.

    Raises:
        KcbenchError: ``without`` names a code or gate that does not exist.
    """
    ordered = sorted(results, key=lambda item: item.id)
    measured = summary.gaps(results, header, without=without)
    blocks = ["# kcbench report", _bullets(f"{markdown(name)}: {markdown(value)}" for name, value in summary.run_facts(header))]
    for number, gap in enumerate(measured):
        blocks += [f"## Rigor gap against {markdown(gap.check)}", f"**{markdown(summary.headline(gap))}**", _two_by_two(gap)]
        blocks.append(_bullets(markdown(line) for line in summary.statements(gap, brief=number > 0)))
    blocks += _suite(results, header)
    if measured:
        blocks += ["## Gates", _gates(measured[0]), "## Failure codes", _codes(measured[0])]
    blocks += ["## Submissions", _submissions(ordered, [gap.check for gap in measured]), _legend()]
    refusals = [block for result in ordered if not result.clean for block in _refusal(result, run)]
    if refusals:
        blocks += ["## What was not clean", *refusals]
    blocks += ["## How to read this", *map(markdown, summary.HOW_TO_READ)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _suite(results: Sequence[Result], header: Mapping[str, Any]) -> list[str]:
    """fast_p and pass@k, where the submissions come from a suite."""
    scores = measure(results, header)
    if scores is None:
        return []
    grids = [
        table(list(map(markdown, grid.head)), [list(map(markdown, row)) for row in grid.rows], range(grid.words, len(grid.head)))
        for grid in fast_p_words.grids(scores)
    ]
    return [f"## {markdown(fast_p_words.TITLE)}", *grids, _bullets(map(markdown, fast_p_words.notes(scores, header)))]


def _bullets(lines: Any) -> str:
    return "\n".join(f"- {line}" for line in lines)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A table of cells that are Markdown already; the columns whose numbers are in ``right`` are aligned to the right."""
    rule = ["---:" if number in right else "---" for number in range(len(head))]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (head, rule, *rows))


def _two_by_two(gap: Gap) -> str:
    cells = gap.table
    return table(
        ["", "contract: clean", "contract: refused"],
        [
            ["legacy: accepts", cells.accepted_clean, f"**{cells.accepted_refused}**"],
            ["legacy: rejects", cells.rejected_clean, cells.rejected_refused],
        ],
        right=(1, 2),
    )


def _gates(gap: Gap) -> str:
    rows = []
    for item in gap.gates:
        share = item.fail_share
        rate = "" if share.value is None else f"{percent(share.value)} ({percents(share.low, share.high)})"
        info = gate_info(item.gate)
        counts = (item.passed, item.failed, item.not_applicable, item.reference_invalid, item.error)
        rows.append([markdown(item.gate), info.title, *counts, rate])
    head = ["gate", "asks about", "pass", "fail", "n.a.", "reference invalid", "error", "fail share (95 % interval)"]
    return table(head, rows, right=range(2, 8))


def _codes(gap: Gap) -> str:
    if not gap.codes:
        return "No findings."
    rows = [[_code_span(one_line(item.code)), item.results, item.accepted, item.silent] for item in gap.codes]
    return table(["code", "submissions", f"accepted by {markdown(gap.check)}", "silent"], rows, right=(1, 2, 3))


def _submissions(results: Sequence[Result], checks: Sequence[str]) -> str:
    if not results:
        return "This run has no results yet."
    rows = []
    for result in results:
        scores = [legacy_score(result, check) for check in checks]
        said = ["" if score is None else "accepts" if accepts(score) else "rejects" for score in scores]
        strip = "".join(mark(result.verdict(gate.id)).symbol for gate in GATES)
        name, task, language = (markdown(item) for item in (result.id, result.task, result.submission.get("language", "")))
        rows.append(
            [
                name,
                task,
                language,
                *said,
                f"`{strip}`",
                outcome(result),
                _code_span(one_line(result.codes[0])) if result.codes else "",
            ]
        )
    return table(["submission", "task", "language", *map(markdown, checks), "gates", "verdict", "first code"], rows)


def _legend() -> str:
    order = " ".join(gate.id for gate in GATES)
    return f"Gates from left to right: {order}. " + ", ".join(f"`{item.symbol}` {_meaning(item)}" for item in MARKS) + "."


def _meaning(item: Mark) -> str:
    return f"{item.name} ({item.meaning})" if item.meaning else item.name


def _refusal(result: Result, run: str) -> list[str]:
    blocks = [f"### {markdown(result.id)}", f"{markdown(headline(result))}."]
    for item in explain_result(result):
        tone = "silent" if item.silent else "loud"
        command = _code_span(one_line(repro_command(run, result.id, item.code)))
        blocks.append(f"- **{markdown(item.code)}** ({tone}): {markdown(item.text)}  \n  {command}")
    return blocks


def _code_span(text: str) -> str:
    """A code span around any one-line text: its fence is longer than every run of backticks inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    """A code block around any text: its fence is longer than every run of backticks inside."""
    fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{clean(text)}\n{fence}"
