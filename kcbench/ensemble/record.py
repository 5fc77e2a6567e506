"""Record: what a study has to say of one variant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kcbench.ensemble.proof import Proof
from kcbench.ensemble.variant import Variant
from kcbench.study.opinions import Opinions
from kcbench.study.ruling import Ruling

CLEAN, REFUSED, ERROR = "clean", "refused", "error"


@dataclass(frozen=True)
class Record:
    """What became of a variant."""

    variant: Variant
    proof: Proof = field(default_factory=lambda: Proof(("it was not tried",), math.inf))
    ruling: Ruling = field(default_factory=Ruling)
    """Of all gates. Its errors are all that failed in kcbench itself."""
    findings: tuple[str, ...] = ()
    """What the gates found, one line each."""
    opinions: Opinions | None = None
    """What other published checkers say of it, if it is proven and they were asked."""
    seconds: float = 0.0

    @property
    def id(self) -> str:
        """The variant's."""
        return self.variant.id

    @property
    def state(self) -> str:
        """What the gates say: ``clean``, ``refused``, or ``error`` where kcbench failed. A variant need not be proven for it."""
        if self.ruling.errors:
            return ERROR
        return REFUSED if self.ruling.codes else CLEAN

    @property
    def wronged(self) -> bool:
        """It is refused though it is proven honest: then a gate is wrong."""
        return self.proof.proven and self.state == REFUSED

    @property
    def failed(self) -> bool:
        """Something failed in kcbench itself: examining the variant again is worth a try."""
        return bool(self.ruling.errors or (self.opinions and self.opinions.failures))

    def to_json(self) -> dict[str, Any]:
        """As JSON, without the id. The source is the ensemble's own."""
        opinions = {} if self.opinions is None else self.opinions.to_json()
        return {
            "task": self.variant.task,
            "language": self.variant.language,
            "state": self.state,
            "proven": self.proof.proven,
            "faults": list(self.proof.faults),
            "proof_worst": self.proof.worst if math.isfinite(self.proof.worst) else None,
            **self.ruling.to_json(),
            "findings": list(self.findings),
            **opinions,
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], variant: Variant) -> Self:
        """The record of a variant.

        Args:
            data: What :meth:`to_json` made of it.
            variant: The variant.
        """
        proof = Proof(tuple(data["faults"]), math.inf if data["proof_worst"] is None else data["proof_worst"])
        ruling, opinions = Ruling.from_json(data), Opinions.from_json(data)
        return cls(variant, proof, ruling, tuple(data["findings"]), opinions, data["seconds"])
