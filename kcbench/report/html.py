"""``report.html``: one self-contained file, for a browser of any size, light or dark, with or without JavaScript."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kcbench.domain.result import Result
from kcbench.report import fast_p_words, plots, summary
from kcbench.report.catalog import GATES, MARKS, Mark, mark
from kcbench.report.explain import Explanation, explain_result, headline, outcome
from kcbench.report.fast_p import measure
from kcbench.report.gap import Gap, accepts
from kcbench.report.text import clean, count, percent, percents

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Row:
    """One submission as the page shows it."""

    result: Result
    outcome: str
    """See :func:`kcbench.report.explain.outcome`."""
    headline: str
    legacy: tuple[tuple[str, str], ...]
    """Check and ``accepts``, ``rejects`` or ``not scored``."""
    marks: tuple[tuple[str, Mark, str], ...]
    """Gate id, mark, and why, for a tooltip."""
    explanations: tuple[tuple[Explanation, str], ...]
    """Each refusal with the command that writes its reproduction script."""
    notes: tuple[str, ...]
    gap: bool
    """Accepted by the first legacy check, and refused."""


def render(results: Sequence[Result], header: Mapping[str, Any], *, run: str = "RUN", without: Sequence[str] = ()) -> str:
    """The page.

    Args:
        results: What the run says.
        header: ``run.json``.
        run: Path of the run folder as a reader would type it, for the commands.
        without: Codes to set aside in the gap; the table still shows them.

    Raises:
        KcbenchError: ``without`` names a code or gate that does not exist.
    """
    measured = summary.gaps(results, header, without=without)
    checks = tuple(gap.check for gap in measured)
    script = (TEMPLATES / "report.js").read_text("utf-8")
    style = (TEMPLATES / "report.css").read_text("utf-8")
    scores = measure(results, header)
    rows = [_row(result, checks, run) for result in sorted(results, key=lambda item: item.id)]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            facts=summary.run_facts(header),
            how_to_read=summary.HOW_TO_READ,
            gaps=[_section(gap, brief=number > 0) for number, gap in enumerate(measured)],
            gate_bars=plots.gate_bars(measured[0].gates) if measured else None,
            code_bars=plots.code_bars(measured[0].codes) if measured else None,
            heat_strip=plots.heat_strip(results) if results else None,
            suite_title=fast_p_words.TITLE,
            suite_grids=fast_p_words.grids(scores) if scores is not None else (),
            suite_notes=fast_p_words.notes(scores, header) if scores is not None else (),
            checks=checks,
            gates=GATES,
            legend=MARKS,
            rows=rows,
            tally=_tally(rows),
            run=run,
            # Both are our own files, not a submission's text; the script's digest is the only one that the page may run.
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            style=Markup(style),
        )
    )


def environment(folder: Path = TEMPLATES) -> Environment:
    """The templates of a folder, in which every value is escaped and cleaned."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )


def _section(gap: Gap, *, brief: bool) -> dict[str, Any]:
    return {
        "gap": gap,
        "share": "–" if gap.rate.value is None else percent(gap.rate.value),
        "interval": None if gap.rate.value is None else percents(gap.rate.low, gap.rate.high),
        "headline": summary.headline(gap),
        "statements": summary.statements(gap, brief=brief),
        "table": plots.two_by_two(gap),
    }


def _row(result: Result, checks: Sequence[str], run: str) -> Row:
    scores = {score.check: "accepts" if accepts(score) else "rejects" for score in result.legacy}
    marks = []
    for gate in GATES:
        verdict = result.verdict(gate.id)
        why = ", ".join(item.code for item in verdict.findings) or verdict.reason if verdict else ""
        shown = mark(verdict)
        marks.append((gate.id, shown, f"{gate.id} {gate.title}: {why or shown.name}"))
    return Row(
        result=result,
        outcome=outcome(result),
        headline=headline(result),
        legacy=tuple((check, scores.get(check, "not scored")) for check in checks),
        marks=tuple(marks),
        explanations=tuple((item, repro_command(run, result.id, item.code)) for item in explain_result(result)),
        notes=tuple(f"{verdict.gate}: {verdict.reason}" for verdict in result.verdicts if verdict.reason),
        gap=bool(checks) and scores.get(checks[0]) == "accepts" and result.refused,
    )


def repro_command(run: str, identifier: str, code: str) -> str:
    """What a reader types to get a script that shows a refusal; ``code`` is ``GATE`` or ``GATE.code``."""
    return f"kcbench repro {shlex.join((run, identifier, code))}"


def _tally(rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    outcomes = [row.outcome for row in rows]
    shown = [(name, f"{outcomes.count(name):,} {name}") for name in ("clean", "refused", "unloadable", "skipped")]
    shown.append(("error", count(outcomes.count("error"), "harness error")))
    return tuple((name, text) for name, text in shown if name in ("clean", "refused") or name in outcomes)
