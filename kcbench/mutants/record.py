"""Record: what a study has to say of one mutant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from kcbench.mutants.outcome import SURVIVED, Outcome
from kcbench.mutants.planted import Planted


@dataclass(frozen=True)
class Record:
    """What became of a mutant, and what the gates say of its honest original."""

    planted: Planted
    outcome: Outcome
    honest_codes: tuple[str, ...] = ()
    """What the gates refuse the original for; then they are wrong."""
    honest_errors: tuple[str, ...] = ()
    """Gates that failed on the original."""
    seconds: float = 0.0

    @property
    def id(self) -> str:
        """The id of what was planted."""
        return self.planted.id

    @property
    def failed(self) -> bool:
        """Something failed in kcbench itself: examining the mutant again is worth a try."""
        opinions = self.outcome.opinions
        return bool(self.outcome.errors or self.honest_errors or (opinions and opinions.failures))

    def to_json(self) -> dict[str, Any]:
        """As JSON; with the source text of a survivor, which somebody has to look into."""
        return {
            "subject": self.planted.subject.id,
            "language": self.planted.language,
            **self.outcome.to_json(),
            "honest": {"codes": list(self.honest_codes), "errors": list(self.honest_errors)},
            "seconds": round(self.seconds, 3),
            **({"source": self.planted.mutant.source} if self.outcome.status == SURVIVED else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], planted: Planted) -> Self:
        """The record of a mutant.

        Args:
            data: What :meth:`to_json` made of it.
            planted: The mutant.
        """
        outcome, honest = Outcome.from_json(data, planted.mutant), data["honest"]
        return cls(planted, outcome, tuple(honest["codes"]), tuple(honest["errors"]), data["seconds"])
