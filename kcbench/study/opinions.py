"""Opinions: what the other published checkers say of one kernel, and how often each of them refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kcbench.report.proportion import Proportion
from kcbench.study.checkers import all_checkers

KCBENCH = "kcbench"


@dataclass(frozen=True)
class Opinions:
    """What each of them says that was asked, by its id."""

    accepted_by: tuple[str, ...] = ()
    refused_by: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    """Those that failed themselves, with the reason. They say neither, or a fault of ours would count as a refusal."""

    def to_json(self) -> dict[str, Any]:
        return {
            "accepted_by": list(self.accepted_by),
            "refused_by": list(self.refused_by),
            "failed_checkers": dict(self.failures),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self | None:
        """None where nobody was asked."""
        if "accepted_by" not in data:
            return None
        return cls(tuple(data["accepted_by"]), tuple(data["refused_by"]), data["failed_checkers"])


def refusals(said: Iterable[tuple[bool, Opinions]]) -> dict[str, Proportion]:
    """How many kernels each checker refuses.

    Args:
        said: For each kernel, whether kcbench refuses it, and what the others say.

    Returns:
        By checker, kcbench first. Out of fewer kernels where one was not asked about all of them.
    """
    found = tuple(said)
    rates = {KCBENCH: Proportion(sum(refused for refused, _ in found), len(found))}
    for checker in all_checkers():
        count = sum(checker.id in opinions.refused_by for _, opinions in found)
        accepted = sum(checker.id in opinions.accepted_by for _, opinions in found)
        rates[checker.id] = Proportion(count, count + accepted)
    return rates
