"""Explaining a refusal in two sentences: what the gate asked, and what the kernel did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcbench.domain import verdict as v
from kcbench.domain.result import Result
from kcbench.domain.verdict import Finding
from kcbench.report.catalog import gate_info
from kcbench.report.sentences import SENTENCES, Sentence
from kcbench.report.text import count, number, one_line, times

Evidence = Mapping[str, Any]


@dataclass(frozen=True)
class Explanation:
    """A finding, ready for a page. All text is cleaned of control characters, and none of it is escaped for a format."""

    gate: str
    title: str
    code: str
    """``GATE.code``."""
    silent: bool
    asked: str
    """First sentence."""
    did: str
    """Second sentence, with the offending element."""
    summary: str
    """The gate's own words."""
    facts: tuple[tuple[str, str], ...]
    """Name and value of each figure in the evidence, for a table."""

    @property
    def text(self) -> str:
        """Both sentences."""
        return f"{self.asked} {self.did}"


def explain(gate: str, finding: Finding) -> Explanation:
    """Explain one finding. Evidence that is missing shortens the second sentence and never fails."""
    code = f"{gate}.{finding.code}"
    sentence = SENTENCES.get(code) or Sentence(f"The gate asks that {gate_info(gate).question}", "The kernel did not do so")
    detail = _detail(finding)
    did = f"{sentence.did}: {detail}." if detail else f"{sentence.did}."
    return Explanation(
        gate=gate,
        title=gate_info(gate).title,
        code=one_line(code),
        silent=finding.silent,
        asked=f"{sentence.asked}.",
        did=did,
        summary=one_line(finding.summary, limit=400),
        facts=_facts(finding.evidence),
    )


def explain_result(result: Result) -> tuple[Explanation, ...]:
    """All refusals of a result, guard first, in the order of the gates."""
    return tuple(explain(verdict.gate, finding) for verdict in result.verdicts for finding in verdict.findings)


_WITHOUT_VERDICTS = {
    "error": "no verdict: the harness failed",
    "skipped": "no verdict: this machine cannot run it",
    "unloadable": "refused: the file could not be loaded",
}
OUTCOMES = ("refused", "unloadable", "clean", "skipped", "error")
"""What a result can come to, in the order of interest."""


def outcome(result: Result) -> str:
    """``clean``, ``refused``, ``unloadable``, ``skipped`` or ``error`` (not refused, but the harness failed in part)."""
    if result.status != "scored":
        return result.status
    return "refused" if result.refused else "clean" if result.clean else "error"


def headline(result: Result) -> str:
    """One line that says how a result stands."""
    if result.status in _WITHOUT_VERDICTS:
        return f"{_WITHOUT_VERDICTS[result.status]} ({one_line(result.reason, limit=200) or 'no reason given'})"
    tally = [verdict.status for verdict in result.verdicts]
    parts = [f"{tally.count(v.PASS)} pass", f"{tally.count(v.FAIL)} fail", f"{tally.count(v.NOT_APPLICABLE)} n.a."]
    if tally.count(v.REFERENCE_INVALID):
        parts.append(f"{tally.count(v.REFERENCE_INVALID)} reference invalid")
    if tally.count(v.ERROR):
        parts.append(count(tally.count(v.ERROR), "harness error"))
    if "unlaunched" in result.labels:
        parts.append("no Triton kernel of its own was seen to run")
    return f"{'no full verdict' if outcome(result) == 'error' else outcome(result)}: {', '.join(parts)}"


def _detail(finding: Finding) -> str:
    """What happened where, as a clause; empty when the evidence says nothing."""
    evidence = finding.evidence
    kind = evidence.get("kind")
    clause = _CLAUSES.get(kind if isinstance(kind, str) else "", _element)(evidence)
    place = _place(evidence)
    if not clause:
        clause = one_line(evidence.get("message") or finding.summary, limit=300).rstrip(".")
    return f"on {place}, {clause}" if place and clause else clause or place


def _place(evidence: Evidence) -> str:
    """``probe “lognormal” (float32, dim=127)``."""
    if not evidence.get("probe"):
        return ""
    inside = [one_line(evidence["dtype"])] if evidence.get("dtype") else []
    axes = evidence.get("axes")
    if isinstance(axes, Mapping) and axes:
        inside += [f"{one_line(name)}={number(size)}" for name, size in list(axes.items())[:6]]
    return f"probe “{one_line(evidence['probe'], limit=80)}”" + (f" ({', '.join(inside)})" if inside else "")


def _where(evidence: Evidence) -> str:
    """``output 0 at [3, 17]``, ``the gradient of input:x at [2]``; empty when there is no index."""
    index = evidence.get("index")
    if not isinstance(index, Sequence) or isinstance(index, str):
        return ""
    output = evidence.get("output", 0)
    what = f"output {output}" if isinstance(output, int) else one_line(output, limit=80)
    if evidence.get("kind") == "gradient":
        what = f"the gradient of {one_line(evidence.get('gradient') or output, limit=80)}"
    return f"{what} at [{', '.join(number(i) for i in index)}]" if index else what


def _element(evidence: Evidence) -> str:
    where = _where(evidence)
    if "got" not in evidence:
        return ""
    clause = f"{where or 'the result'} is {number(evidence['got'], 9)}"
    if "expected" in evidence:
        margin = f" ± {number(evidence['tolerance'], 3)}" if evidence.get("tolerance") else ""
        clause += f" where {number(evidence['expected'], 9)}{margin} is right"
    apart = times(evidence.get("ratio"))
    return f"{clause}, {apart} away" if apart else clause


def _bits(evidence: Evidence) -> str:
    clause = _element({**evidence, "tolerance": None, "ratio": None})
    wrong = evidence.get("wrong")
    return f"{clause} exactly ({count(wrong, 'element')} differ)" if clause and isinstance(wrong, int) else clause


def _repeat(evidence: Evidence) -> str:
    runs, distinct = evidence.get("runs"), evidence.get("distinct")
    if not isinstance(runs, int):
        return ""
    results = count(distinct, "different result") if isinstance(distinct, int) else "different results"
    return f"{count(runs, 'run')} gave {results}"


def _stateful(evidence: Evidence) -> str:
    if "index" in evidence or "got" not in evidence or "expected" not in evidence:
        return _element(evidence)
    before, after = (one_line(evidence[name], limit=16) for name in ("expected", "got"))
    return f"the digest of the output bytes went from {before} to {after}"


def _weights(evidence: Evidence) -> str:
    clause = _element(evidence)
    return f"{clause}; the whole output is bit for bit the old one" if clause and evidence.get("unchanged") is True else clause


def _alias(evidence: Evidence) -> str:
    if not evidence.get("shares_with"):
        return ""
    owner = one_line(evidence["shares_with"], limit=80)
    return f"output {number(evidence.get('output', 0))} shares storage with {owner!r}"


def _mutates(evidence: Evidence) -> str:
    return f"{_names(evidence.get('inputs'))} held other bytes after the call" if evidence.get("inputs") else ""


def _missing_gradient(evidence: Evidence) -> str:
    clause = f"none for {_names(evidence['gradients'])}" if evidence.get("gradients") else ""
    said = one_line(evidence.get("message") or "", limit=200)
    return f"{clause} (backward said: {said})" if clause and said else clause


def _names(names: Any) -> str:
    listed = list(names) if isinstance(names, (list, tuple)) else [names]
    return ", ".join(repr(one_line(name, limit=60)) for name in listed[:4]) + (", …" if len(listed) > 4 else "")


def _pair(evidence: Evidence) -> str:
    where = _where(evidence)
    if not where or "got" not in evidence or "expected" not in evidence:
        return ""
    clause = f"{where} is {number(evidence['got'], 9)} in one call and {number(evidence['expected'], 9)} in the other"
    if evidence.get("tolerance"):
        clause += f", where {number(evidence['tolerance'], 3)} is allowed"
    apart = times(evidence.get("ratio"))
    return f"{clause} ({apart})" if apart else clause


def _expected_got(evidence: Evidence) -> str:
    if "got" not in evidence or "expected" not in evidence:
        return ""
    return f"it gave {_plain(evidence['got'])} where {_plain(evidence['expected'])} was due"


def _resource(evidence: Evidence) -> str:
    if not evidence.get("kernel"):
        return ""
    clause = f"kernel {one_line(evidence['kernel'], limit=80)!r}"
    clause += f", compiled for {one_line(evidence['target'])}," if evidence.get("target") else ""
    if "got" not in evidence or "expected" not in evidence:
        return clause.rstrip(",")
    return f"{clause} has {number(evidence['got'])} where the limit is {number(evidence['expected'])}"


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_plain(item) for item in value[:8])}{', …' if len(value) > 8 else ''}]"
    return number(value)


_CLAUSES: Mapping[str, Callable[[Evidence], str]] = {
    "bits": _bits,
    "repeat": _repeat,
    "stateful": _stateful,
    "weights": _weights,
    "pair": _pair,
    "alias-input": _alias,
    "alias-output": _alias,
    "mutates": _mutates,
    "missing-gradient": _missing_gradient,
    **dict.fromkeys(("dtype", "shape", "subclass", "device", "host-copy", "memory"), _expected_got),
    "resource": _resource,
}
"""How the details of each kind of evidence read; other kinds speak of one element."""


def _facts(evidence: Evidence) -> tuple[tuple[str, str], ...]:
    return tuple((one_line(key, limit=40), _fact(value)) for key, value in evidence.items() if value is not None and value != {})


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{one_line(key, limit=40)}={_plain(item)}" for key, item in list(value.items())[:12])
    return _plain(value)
