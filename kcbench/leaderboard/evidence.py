"""Evidence: what a submission row says, read for a page. Every part that makes no sense is left out, with a note."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kcbench.domain.result import LegacyScore
from kcbench.domain.timing import Timing
from kcbench.domain.verdict import Verdict
from kcbench.errors import KcbenchError
from kcbench.hub.submissions import LONGEST
from kcbench.report.text import clean, one_line

LONGEST_TEXT = 4_000
"""Longest text of a single value, in characters."""
DEEPEST, MOST = 12, 2_000
"""How deep values are nested, and how many a list or a mapping holds, at most."""
T = TypeVar("T")


class Evidence:
    """A submission row that is taken apart.

    Args:
        row: The row; columns may be missing.

    Attributes:
        notes: What was cut, or could not be read.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row
        cut = row.get("cut")
        self.notes: list[str] = [one_line(item, limit=300) for item in cut[:20]] if isinstance(cut, list) else []

    def text(self, column: str, longest: int = LONGEST_TEXT) -> str:
        """A text, cut."""
        value = self._row.get(column)
        if not isinstance(value, str):
            return ""
        if len(value) > longest:
            self.notes.append(f"{column}: cut, it has {len(value):,} characters")
        return clean(value[:longest])

    def source(self) -> str:
        """The source text as it was scored; empty where it is missing, too long, or another one."""
        text = self._row.get("source")
        if not isinstance(text, str) or not text:
            return ""
        if len(text) > LONGEST["source"]:
            self.notes.append(f"source: left out, it has {len(text):,} characters")
            return ""
        if hashlib.sha256(text.encode()).hexdigest() != self._row.get("submission_digest"):
            self.notes.append("source: left out, it has another digest than what was scored")
            return ""
        return text

    def labels(self) -> tuple[str, ...]:
        """Labels of the submission."""
        found = self._row.get("labels")
        return tuple(one_line(item, limit=60) for item in found[:20]) if isinstance(found, list) else ()

    def legacy(self) -> tuple[LegacyScore, ...]:
        """Scores of legacy checks."""
        read: Callable[[Any], tuple[LegacyScore, ...]] = lambda data: tuple(LegacyScore.from_json(item) for item in data)  # noqa: E731
        return self._parsed("legacy", LONGEST["verdicts"], read) or ()

    def verdicts(self) -> tuple[Verdict, ...] | None:
        """Verdicts with their evidence; None where they cannot be read."""
        found = self._parsed("verdicts", 4 * LONGEST["verdicts"], lambda data: [_verdict(item) for item in data])
        return None if found is None else tuple(found)

    def calls(self) -> Mapping[str, list[Any]]:
        """Calls that show a finding, by ``GATE.code``."""
        found = self._parsed("calls", 4 * LONGEST["calls"], lambda data: {str(code): list(calls) for code, calls in data.items()})
        return found or {}

    def timing(self) -> Timing | None:
        """How fast it is."""
        return self._parsed("timing", 4 * LONGEST["timing"], _timing)

    def mapping(self, column: str) -> Mapping[str, Any]:
        """A mapping, ``environment`` or ``resources``."""
        read: Callable[[Any], dict[str, Any]] = lambda data: dict(data.items())  # noqa: E731
        return self._parsed(column, 4 * LONGEST["environment"], read) or {}

    def _parsed(self, column: str, longest: int, read: Callable[[Any], T]) -> T | None:
        """A column of JSON, as ``read`` makes it of what is safe to hold."""
        text = self._row.get(column)
        if not isinstance(text, str) or not text:
            return None
        if len(text) > longest:
            self.notes.append(f"{column}: left out, it has {len(text):,} characters")
            return None
        try:
            return read(_bounded(json.loads(text)))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OverflowError) as error:
            self.notes.append(f"{column}: cannot be read: {one_line(type(error).__name__)}")
            return None


def scripts(
    verdicts: tuple[Verdict, ...],
    calls: Mapping[str, list[Any]],
    *,
    source: str,
    entry: str,
    title: str,
    facts: Mapping[str, Any],
) -> dict[str, str]:
    """Reproduction scripts by ``GATE.code``, of the first finding of each; those that cannot be made are missing.

    Args:
        verdicts: Verdicts with evidence.
        calls: By ``GATE.code``.
        source: Source text of the submission.
        entry: Its entry class.
        title: What follows the code in a script's first line.
        facts: ``interpreted``, ``device`` and ``problem`` of the run.
    """
    from kcbench.report.repro import build_script

    found: dict[str, str] = {}
    for verdict in verdicts if source else ():
        for finding in verdict.findings:
            code = f"{verdict.gate}.{finding.code}"
            if code in found:
                continue
            try:
                found[code] = build_script(
                    source=source,
                    entry=entry,
                    finding=finding,
                    calls=calls.get(code, []),
                    interpret=bool(facts["interpreted"]),
                    title=f"{code} of {title}",
                    gate=verdict.gate,
                    device=facts["device"] or None,
                    problem=str(facts["problem"]),
                )
            except (KcbenchError, KeyError, TypeError, ValueError):
                continue
    return found


def _verdict(data: Any) -> Verdict:
    verdict = Verdict.from_json(data)
    if not all(isinstance(part, Mapping) for part in (verdict.metrics, *(item.evidence for item in verdict.findings))):
        raise ValueError("no mapping")
    int(verdict.checks)
    return verdict


def _timing(data: Any) -> Timing:
    timing = Timing.from_json(data)
    for stats in (timing, *timing.baselines.values()):
        figures: list[Any] = [stats.median_ms, stats.mean_ms, stats.std_ms, stats.min_ms, stats.max_ms, stats.trials]
        if not all(isinstance(figure, (int, float)) and not isinstance(figure, bool) for figure in figures):
            raise ValueError("no number")
    return timing


def _bounded(value: Any, depth: int = 0) -> Any:
    """A value of JSON with its texts cut, and nothing nested too deep or too long."""
    if depth > DEEPEST:
        return "..."
    if isinstance(value, str):
        return clean(value, limit=LONGEST_TEXT)
    if isinstance(value, list):
        return [_bounded(item, depth + 1) for item in value[:MOST]]
    if isinstance(value, dict):
        return {clean(name, limit=200): _bounded(item, depth + 1) for name, item in list(value.items())[:MOST]}
    return value
