"""Submission rows: what a page about one submission shows, with the columns of ``submission_row.schema.json``."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kcbench.domain.result import Result
from kcbench.domain.verdict import Finding, Verdict
from kcbench.errors import KcbenchError
from kcbench.hub.columns import SUBMISSIONS, columns
from kcbench.hub.origin import Origin
from kcbench.report.journal import plain
from kcbench.report.store import RunFolder
from kcbench.report.text import clean

LONGEST = {"source": 256_000, "verdicts": 256_000, "calls": 128_000, "timing": 32_000, "environment": 32_000, "reason": 4_000}
"""Longest text of a column, in characters: a page has to carry it."""
_SHORT = 400
"""Longest sentence of a finding that is kept where the evidence is too long."""
_ALIKE = ("run", "task_digest", "created", "kcbench", "device", "device_name", "sandbox", "seed")
"""Columns that result rows have, too."""

Source = Callable[[Result], str]
"""Gives the source text of a submission; raises :class:`KcbenchError` where it cannot."""
Calls = Callable[[Result, Finding], Sequence[Mapping[str, Any]]]
"""Gives the calls that show a finding; raises :class:`KcbenchError` where it cannot."""


def submission_row(
    result: Result, known: Mapping[str, Any], source: Source | None = None, calls: Calls | None = None
) -> dict[str, Any]:
    """The row of one submission.

    Args:
        result: What the run says.
        known: A result row of the submission.
        source: Where source texts come from; without it there are none.
        calls: Where calls come from; without it no script can be made of the row.
    """
    cut: list[str] = []
    facts, timing = result.submission, result.timing
    eager = None if timing is None else timing.baselines.get("eager")
    resources = result.verdict("RES-02")
    row = {
        **{name: known[name] for name in _ALIKE},
        "submission": clean(result.id),
        "submission_digest": facts["digest"],
        "task": clean(result.task),
        **{name: clean(facts.get(name) or "") for name in ("author", "language", "entry")},
        "labels": [clean(label) for label in result.labels],
        "status": result.status,
        "reason": clean(result.reason, limit=LONGEST["reason"]),
        "source": _source(result, source, cut),
        "legacy": _text([score.to_json() for score in result.legacy]),
        "verdicts": _verdicts(result.verdicts, cut),
        "calls": _calls(result, calls, cut),
        "speedup": None if timing is None else timing.speedup(),
        "median_ms": None if timing is None else timing.median_ms,
        "mean_ms": None if timing is None else timing.mean_ms,
        "eager_median_ms": None if eager is None else eager.median_ms,
        "eager_mean_ms": None if eager is None else eager.mean_ms,
        "timing_flags": [] if timing is None else list(timing.flags),
        "timing_size": None if timing is None else timing.size,
        "timing": None if timing is None else _fitting("timing", timing.to_json(), {**timing.to_json(), "detail": {}}, cut),
        "untimed": clean(result.untimed, limit=LONGEST["reason"]),
        "resources": _text(resources.metrics if resources is not None else {}),
        "environment": _fitting("environment", dict(result.environment), {}, cut),
        "cut": cut,
    }
    return {column.name: row[column.name] for column in columns(SUBMISSIONS)}


def replayed_calls(folder: RunFolder) -> Calls | None:
    """Calls of a run that is at hand; None where torch is not installed, which they are planned with."""
    if importlib.util.find_spec("torch") is None:
        return None
    from kcbench.engine.replay import Replay

    root = Origin.of(folder.header).root() if folder.header["options"].get("tasks") else None
    return Replay(folder, root).calls


def _source(result: Result, source: Source | None, cut: list[str]) -> str | None:
    if source is None:
        return None
    try:
        text = source(result)
    except KcbenchError as error:
        cut.append(f"source: {clean(error.what)}")
        return None
    # What is shown must be what was scored: a part of it would not have its digest.
    if len(text) > LONGEST["source"]:
        cut.append(f"source: left out, it has {len(text):,} characters")
        return None
    return text.encode("utf-8", "replace").decode()


def _verdicts(verdicts: Sequence[Verdict], cut: list[str]) -> str:
    whole = [verdict.to_json() for verdict in verdicts]
    return _fitting("verdicts", whole, [_shortened(verdict).to_json() for verdict in verdicts], cut)


def _shortened(verdict: Verdict) -> Verdict:
    """A verdict without evidence, and one finding for each code."""
    first = {finding.code: finding for finding in reversed(verdict.findings)}
    kept = [replace(item, summary=clean(item.summary, limit=_SHORT), probes=(), evidence={}) for item in first.values()]
    return replace(verdict, findings=tuple(reversed(kept)), reason=clean(verdict.reason, limit=_SHORT), notes=(), metrics={})


def _calls(result: Result, calls: Calls | None, cut: list[str]) -> str:
    found: dict[str, Any] = {}
    for verdict in result.verdicts if calls is not None else ():
        for finding in verdict.findings:
            code = f"{verdict.gate}.{finding.code}"
            if calls is None or code in found or not finding.probes:
                continue
            try:
                found[code] = list(calls(result, finding))
            except KcbenchError as error:
                cut.append(f"calls of {clean(code)}: {clean(error.what)}")
    return _fitting("calls", found, {}, cut)


def _fitting(column: str, whole: Any, short: Any, cut: list[str]) -> str:
    """The whole as JSON, or what is short enough, with a note."""
    text = _text(whole)
    if len(text) <= LONGEST[column]:
        return text
    cut.append(f"{column}: cut, it has {len(text):,} characters")
    text = _text(short)
    return text if len(text) <= LONGEST[column] else _text(type(short)())


def _text(value: Any) -> str:
    return json.dumps(plain(value), sort_keys=True, ensure_ascii=True, allow_nan=False)
