"""Verdict: one gate's answer about one submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PASS = "PASS"
FAIL = "FAIL"
NOT_APPLICABLE = "NOT_APPLICABLE"
REFERENCE_INVALID = "REFERENCE_INVALID"
ERROR = "ERROR"
STATUSES = (PASS, FAIL, NOT_APPLICABLE, REFERENCE_INVALID, ERROR)


@dataclass(frozen=True)
class Finding:
    """One reason to refuse, with what is needed to see it again."""

    code: str
    """One of the gate's failure codes."""
    summary: str
    """One sentence for a person: what was asked, what came."""
    silent: bool = True
    """True for a wrong answer without notice, False for an exception inside the contract's class."""
    probes: tuple[str, ...] = ()
    """Ids of the probes involved, in the order in which they ran; the last one shows the failure."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """Facts: ``probe`` (label), ``kind``, ``output``, ``index``, ``expected``, ``got``, ``tolerance``, ``ratio``, ..."""

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "summary": self.summary,
            "silent": self.silent,
            "probes": list(self.probes),
            "evidence": dict(self.evidence),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        return cls(data["code"], data["summary"], data["silent"], tuple(data["probes"]), data["evidence"])


@dataclass(frozen=True)
class Verdict:
    """One gate's answer: a status, and findings exactly where the status is FAIL."""

    gate: str
    status: str
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    """Why the gate is not applicable, why the reference is invalid, or what went wrong in the harness."""
    checks: int = 0
    """How many single checks stand behind the answer."""
    notes: tuple[str, ...] = ()
    """Parts of the gate that did not apply, for example ``tf32: interpreted``."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Figures such as the worst ``z`` seen."""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"unknown status {self.status!r}")
        if (self.status == FAIL) != bool(self.findings):
            raise ValueError(f"{self.gate}: findings belong to FAIL and only to FAIL")

    @property
    def code(self) -> str | None:
        """The first finding's code, or None."""
        return self.findings[0].code if self.findings else None

    @property
    def codes(self) -> tuple[str, ...]:
        """All codes, as ``GATE.code``, without repeats."""
        return tuple(dict.fromkeys(f"{self.gate}.{finding.code}" for finding in self.findings))

    def to_json(self) -> dict[str, Any]:
        return {
            "gate": self.gate,
            "status": self.status,
            "findings": [finding.to_json() for finding in self.findings],
            "reason": self.reason,
            "checks": self.checks,
            "notes": list(self.notes),
            "metrics": dict(self.metrics),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        return cls(
            data["gate"],
            data["status"],
            tuple(Finding.from_json(item) for item in data["findings"]),
            data["reason"],
            data["checks"],
            tuple(data["notes"]),
            data["metrics"],
        )

    @classmethod
    def of(
        cls,
        gate: str,
        findings: Sequence[Finding],
        *,
        checks: int,
        notes: Sequence[str] = (),
        metrics: Mapping[str, Any] | None = None,
        reason: str = "",
    ) -> Verdict:
        """FAIL where there are findings; else PASS where at least one check was made; else NOT_APPLICABLE."""
        status = FAIL if findings else PASS if checks else NOT_APPLICABLE
        return cls(gate, status, tuple(findings), reason if status == NOT_APPLICABLE else "", checks, tuple(notes), metrics or {})
