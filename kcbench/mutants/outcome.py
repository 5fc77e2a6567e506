"""Outcome: what became of one mutant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcbench.domain.verdict import ERROR, FAIL
from kcbench.mutants.mutant import Mutant
from kcbench.mutants.witness import Bench, NotRunnableError, Witness
from kcbench.study import Died, isolated, score_here

UNRUNNABLE, EQUIVALENT, REFUSED, SURVIVED = "unrunnable", "equivalent", "refused", "survived"
SECONDS = 15.0
INTERPRETED_SECONDS = 150.0
SLOWDOWN = 20.0
"""How many times longer than the honest kernel a mutant may take, beside those seconds, before it counts as endless."""
DIED = "died"


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant."""

    mutant: Mutant
    status: str
    """``unrunnable`` (it fails in every call), ``equivalent`` (no witness), ``refused`` or ``survived``."""
    witness: Witness | None = None
    codes: tuple[str, ...] = ()
    """What the gates found, those of the first gate that refused it; also where there is no witness, if they were asked."""
    errors: tuple[str, ...] = ()
    """Gates that failed themselves."""

    def to_json(self) -> dict[str, Any]:
        mutant = {name: value for name, value in vars(self.mutant).items() if name != "source"}
        witness = None if self.witness is None else self.witness.to_json()
        return {**mutant, "status": self.status, "witness": witness, "codes": list(self.codes), "errors": list(self.errors)}


def examine(mutant: Mutant, bench: Bench, *, equivalents: bool = False) -> Outcome:
    """Look for a witness and, where there is one, ask the gates; each in a fork of its own.

    A mutant that ends its process, or does not come back, is a witness of itself, and a worker would report as much.

    Args:
        mutant: The mutant.
        bench: Its honest original.
        equivalents: Ask the gates about mutants without a witness too.
    """
    seconds = (INTERPRETED_SECONDS if bench.interpreted else SECONDS) + SLOWDOWN * bench.seconds
    found = isolated(lambda: _search(mutant, bench), seconds=seconds)
    if isinstance(found, Died):
        witness: Witness | None = Witness(DIED, found.reason, {}, "", "")
    elif found["status"] == UNRUNNABLE:
        return Outcome(mutant, UNRUNNABLE)
    else:
        witness = None if found["witness"] is None else Witness.from_json(found["witness"])
    if witness is None and not equivalents:
        return Outcome(mutant, EQUIVALENT)
    scored = isolated(lambda: _score(mutant, bench), seconds=seconds)
    if isinstance(scored, Died):
        scored = {"codes": [DIED], "errors": []}
    codes, errors = tuple(scored["codes"]), tuple(scored["errors"])
    status = EQUIVALENT if witness is None else REFUSED if codes else SURVIVED
    return Outcome(mutant, status, witness, codes, errors)


def _search(mutant: Mutant, bench: Bench) -> Mapping[str, Any]:
    try:
        witness = bench.find_witness(mutant.source)
    except NotRunnableError:
        return {"status": UNRUNNABLE}
    return {"status": "", "witness": None if witness is None else witness.to_json()}


def _score(mutant: Mutant, bench: Bench) -> Mapping[str, Any]:
    verdicts = score_here(mutant.source, bench.task, bench.oracle, interpreted=bench.interpreted, until_refused=True)
    codes = [code for verdict in verdicts if verdict.status == FAIL for code in verdict.codes]
    return {"codes": codes, "errors": [f"{verdict.gate}: {verdict.reason}" for verdict in verdicts if verdict.status == ERROR]}
