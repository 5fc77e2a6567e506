"""Outcome: what became of one mutant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kcbench.engine import Options, evaluate
from kcbench.mutants.mutant import Mutant
from kcbench.mutants.witness import DIED, Bench, NotRunnableError, Witness
from kcbench.study import Died, score_session
from kcbench.study.allowance import allowance
from kcbench.study.opinions import Opinions
from kcbench.study.panel import Panel
from kcbench.study.ruling import Ratios, Ruling

UNRUNNABLE, EQUIVALENT, REFUSED, SURVIVED, FAILED = "unrunnable", "equivalent", "refused", "survived", "failed"


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant."""

    mutant: Mutant
    status: str
    """``unrunnable`` (it fails in every call), ``equivalent`` (no witness), ``refused``, ``survived`` or ``failed``: kcbench."""
    witness: Witness | None = None
    codes: tuple[str, ...] = ()
    """What the gates found, those of the first gate that refused it; also where there is no witness, if they were asked."""
    errors: tuple[str, ...] = ()
    """What failed in kcbench itself, gates for the most part."""
    ratios: Ratios = field(default_factory=dict)
    """What the gates measured that were asked, up to the first one that refused it."""
    opinions: Opinions | None = None
    """What other published checkers say of it, if they were asked."""

    def to_json(self) -> dict[str, Any]:
        """As JSON, without the mutant's id and source."""
        mutant = {name: value for name, value in vars(self.mutant).items() if name not in ("id", "source")}
        witness = None if self.witness is None else self.witness.to_json()
        ruling = Ruling(self.codes, self.errors, self.ratios).to_json()
        opinions = {} if self.opinions is None else self.opinions.to_json()
        return {**mutant, "status": self.status, "witness": witness, **ruling, **opinions}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], mutant: Mutant) -> Self:
        """The outcome of a mutant.

        Args:
            data: What :meth:`to_json` made of it.
            mutant: The mutant.
        """
        witness = None if data["witness"] is None else Witness.from_json(data["witness"])
        found = Ruling.from_json(data)
        return cls(mutant, data["status"], witness, found.codes, found.errors, found.ratios, Opinions.from_json(data))


def examine(
    mutant: Mutant, bench: Bench, *, equivalents: bool = False, every_gate: bool = False, panel: Panel | None = None
) -> Outcome:
    """Look for a witness and, where there is one, ask the gates; each in a fork or a worker of its own.

    A mutant that ends its process, or does not come back, is a witness of itself.

    Args:
        mutant: The mutant.
        bench: Its honest original.
        equivalents: Ask the gates about mutants without a witness too.
        every_gate: Ask the other gates as well after one has refused it.
        panel: Whom else to ask about it if it has one.
    """
    seconds = allowance(bench.seconds, interpreted=bench.interpreted)
    found = bench.place.apart(lambda: _search(mutant, bench), seconds=seconds)
    if isinstance(found, Died):
        witness: Witness | None = Witness(DIED, found.reason, {}, "", "")
    elif found["status"] == UNRUNNABLE:
        return Outcome(mutant, UNRUNNABLE)
    else:
        witness = None if found["witness"] is None else Witness.from_json(found["witness"])
    if witness is None and not equivalents:
        return Outcome(mutant, EQUIVALENT)
    scored = bench.place.apart(lambda: _score(mutant, bench, every_gate), seconds=seconds)
    found = Ruling((DIED,)) if isinstance(scored, Died) else Ruling.from_json(scored)
    status = EQUIVALENT if witness is None else REFUSED if found.codes else FAILED if found.errors else SURVIVED
    opinions = None if panel is None or witness is None else panel.opinions(mutant.source)
    return Outcome(mutant, status, witness, found.codes, found.errors, found.ratios, opinions)


def confirmed(outcome: Outcome, bench: Bench) -> Outcome:
    """A survivor after the engine was asked, too: what unwritten memory holds depends on the process."""
    options = Options(seed=bench.oracle.seed, device=bench.place.device, legacy=())
    result = evaluate(bench.task, outcome.mutant.source, options=options)
    found = Ruling.of(result.verdicts)
    if result.refused:
        return dataclasses.replace(outcome, status=REFUSED, codes=result.codes, ratios=found.ratios)
    errors = (result.reason,) if result.status == "error" else found.errors
    return dataclasses.replace(outcome, status=FAILED, errors=errors) if errors else outcome


def _search(mutant: Mutant, bench: Bench) -> Mapping[str, Any]:
    try:
        witness = bench.find_witness(mutant.source)
    except NotRunnableError:
        return {"status": UNRUNNABLE}
    return {"status": "", "witness": None if witness is None else witness.to_json()}


def _score(mutant: Mutant, bench: Bench, every_gate: bool) -> Mapping[str, Any]:
    device, interpreted = bench.place.device, bench.interpreted
    with bench.session(mutant.source) as session:
        if not session.load().ok:
            return Ruling((DIED,)).to_json()
        verdicts = score_session(
            session, bench.task, bench.oracle, device=device, interpreted=interpreted, until_refused=not every_gate
        )
    return Ruling.of(verdicts).to_json()
