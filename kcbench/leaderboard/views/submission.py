"""Submission: one kernel with its verdicts, its source, and how to see a refusal again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kcbench.domain.timing import FLAGS, Timing
from kcbench.domain.verdict import Verdict
from kcbench.leaderboard.detail import Detail
from kcbench.leaderboard.links import Asked
from kcbench.leaderboard.page import Page
from kcbench.leaderboard.source import highlighted
from kcbench.leaderboard.store import Store
from kcbench.report.catalog import Mark, gate_info, mark
from kcbench.report.explain import Explanation, explain
from kcbench.report.html import repro_command
from kcbench.report.journal import plain
from kcbench.report.text import number, one_line

MEANING = "What was asked of this kernel, what it answered, and how to see a refusal again on your own machine."


@dataclass(frozen=True)
class Refusal:
    """One finding as the page shows it."""

    told: Explanation
    command: str
    """Writes the script from the run folder."""
    script: str
    """The script itself; empty where it was not published."""


@dataclass(frozen=True)
class Answer:
    """One gate's answer as the page shows it."""

    gate: str
    title: str
    mark: Mark
    why: str
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]
    checks: int


def view(store: Store, asked: Asked) -> Page:
    """The page; one that says so where there is no such submission."""
    run, identifier = asked.option("run"), asked.option("id")
    detail = store.submission(run, identifier) if run and identifier else None
    if detail is None:
        meaning = "The results hold no such submission: it may have been replaced by a newer run, or the address is not complete."
        return Page("missing.html.j2", "/submissions", "No such submission", meaning, filtered=False, status=404)
    return Page(
        "submission.html.j2",
        "/submissions",
        one_line(detail.submission, limit=120),
        MEANING,
        {
            "detail": detail,
            "answers": [answer(verdict, detail) for verdict in detail.verdicts],
            "source": highlighted(detail.source) if detail.source else "",
            "times": tuple(times(detail.timing)) if detail.timing is not None else (),
            "flags": [(flag, FLAGS.get(flag, "")) for flag in detail.timing.flags] if detail.timing is not None else [],
            "environment": [(one_line(key, limit=60), _text(value)) for key, value in detail.environment.items()],
            "run_facts": [(key.replace("_", " "), one_line(value, limit=200)) for key, value in detail.run_facts.items()],
        },
        filtered=False,
    )


def script(store: Store, asked: Asked) -> str | None:
    """The text of one reproduction script; None where there is none."""
    detail = store.submission(asked.option("run"), asked.option("id"))
    return detail.scripts.get(asked.option("code")) if detail is not None else None


def answer(verdict: Verdict, detail: Detail) -> Answer:
    """A verdict in words."""
    refusals = tuple(_refusal(verdict.gate, item, detail) for item in verdict.findings)
    why = ", ".join(item.code for item in verdict.findings) or one_line(verdict.reason, limit=300)
    return Answer(
        verdict.gate,
        gate_info(verdict.gate).title,
        mark(verdict),
        why,
        refusals,
        tuple(one_line(note, limit=200) for note in verdict.notes),
        verdict.checks,
    )


def _refusal(gate: str, finding: Any, detail: Detail) -> Refusal:
    code = f"{gate}.{finding.code}"
    return Refusal(explain(gate, finding), repro_command("RUN", detail.submission, code), detail.scripts.get(code, ""))


def times(timing: Timing) -> Iterator[tuple[str, ...]]:
    """A row for the kernel and each baseline: name, median, mean, deviation, least (milliseconds), trials, speedup."""
    for name, stats in (("this kernel", timing), *timing.baselines.items()):
        figures = (number(value, 4) for value in (stats.median_ms, stats.mean_ms, stats.std_ms, stats.min_ms))
        ratio = timing.speedup(name) if name in timing.baselines else None
        yield (one_line(name, limit=40), *figures, str(stats.trials), "" if ratio is None else f"{number(ratio, 3)}×")


def _text(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(plain(value)), limit=300)
