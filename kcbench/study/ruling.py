"""Ruling: what the gates say of one kernel, in short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kcbench.domain.verdict import ERROR, FAIL, Verdict

Ratios = Mapping[str, Mapping[str, float]]
"""The largest finite error over tolerance, by gate and dtype."""


@dataclass(frozen=True)
class Ruling:
    """What the gates that were judged say."""

    codes: tuple[str, ...] = ()
    """What they refuse the kernel for."""
    errors: tuple[str, ...] = ()
    """Gates that failed themselves, with the reason."""
    ratios: Ratios = field(default_factory=dict)
    """How close to the line the kernel came, or how far beyond it."""

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Self:
        """What some verdicts come to."""
        found = tuple(verdicts)
        return cls(
            tuple(code for verdict in found if verdict.status == FAIL for code in verdict.codes),
            tuple(f"{verdict.gate}: {verdict.reason}" for verdict in found if verdict.status == ERROR),
            {verdict.gate: dict(worst) for verdict in found if (worst := verdict.metrics.get("worst_by_dtype"))},
        )

    def to_json(self) -> dict[str, Any]:
        return {"codes": list(self.codes), "errors": list(self.errors), "ratios": self.ratios}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(tuple(data["codes"]), tuple(data["errors"]), data["ratios"])
