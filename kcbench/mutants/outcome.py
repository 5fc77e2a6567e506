"""Outcome: what became of one mutant."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from kcbench.domain.verdict import ERROR, FAIL, Verdict
from kcbench.engine import Options, evaluate
from kcbench.mutants.mutant import Mutant
from kcbench.mutants.witness import DIED, Bench, NotRunnableError, Witness
from kcbench.study import Died, score_session

UNRUNNABLE, EQUIVALENT, REFUSED, SURVIVED, FAILED = "unrunnable", "equivalent", "refused", "survived", "failed"
SECONDS = 15.0
INTERPRETED_SECONDS = 150.0
SLOWDOWN = 20.0
"""How many times longer than the honest kernel a mutant may take, beside those seconds, before it counts as endless."""


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

    def to_json(self) -> dict[str, Any]:
        mutant = {name: value for name, value in vars(self.mutant).items() if name != "source"}
        witness = None if self.witness is None else self.witness.to_json()
        return {**mutant, "status": self.status, "witness": witness, "codes": list(self.codes), "errors": list(self.errors)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], mutant: Mutant) -> Self:
        """The outcome of a mutant.

        Args:
            data: What :meth:`to_json` made of it.
            mutant: The mutant, whose source is not part of that.
        """
        witness = None if data["witness"] is None else Witness.from_json(data["witness"])
        return cls(mutant, data["status"], witness, tuple(data["codes"]), tuple(data["errors"]))


def examine(mutant: Mutant, bench: Bench, *, equivalents: bool = False) -> Outcome:
    """Look for a witness and, where there is one, ask the gates; each in a fork or a worker of its own.

    A mutant that ends its process, or does not come back, is a witness of itself.

    Args:
        mutant: The mutant.
        bench: Its honest original.
        equivalents: Ask the gates about mutants without a witness too.
    """
    seconds = (INTERPRETED_SECONDS if bench.interpreted else SECONDS) + SLOWDOWN * bench.seconds
    found = bench.place.apart(lambda: _search(mutant, bench), seconds=seconds)
    if isinstance(found, Died):
        witness: Witness | None = Witness(DIED, found.reason, {}, "", "")
    elif found["status"] == UNRUNNABLE:
        return Outcome(mutant, UNRUNNABLE)
    else:
        witness = None if found["witness"] is None else Witness.from_json(found["witness"])
    if witness is None and not equivalents:
        return Outcome(mutant, EQUIVALENT)
    scored = bench.place.apart(lambda: _score(mutant, bench), seconds=seconds)
    if isinstance(scored, Died):
        scored = {"codes": [DIED], "errors": []}
    codes, errors = tuple(scored["codes"]), tuple(scored["errors"])
    status = EQUIVALENT if witness is None else REFUSED if codes else FAILED if errors else SURVIVED
    return Outcome(mutant, status, witness, codes, errors)


def confirmed(outcome: Outcome, bench: Bench) -> Outcome:
    """A survivor after the engine was asked, too: what unwritten memory holds depends on the process."""
    options = Options(seed=bench.oracle.seed, device=bench.place.device, legacy=())
    result = evaluate(bench.task, outcome.mutant.source, options=options)
    if result.refused:
        return dataclasses.replace(outcome, status=REFUSED, codes=result.codes)
    errors = (result.reason,) if result.status == "error" else findings(result.verdicts)[1]
    return dataclasses.replace(outcome, status=FAILED, errors=errors) if errors else outcome


def findings(verdicts: Iterable[Verdict]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The codes that verdicts refuse a kernel for, and the gates that failed themselves, with the reason."""
    found = tuple(verdicts)
    codes = tuple(code for verdict in found if verdict.status == FAIL for code in verdict.codes)
    return codes, tuple(f"{verdict.gate}: {verdict.reason}" for verdict in found if verdict.status == ERROR)


def _search(mutant: Mutant, bench: Bench) -> Mapping[str, Any]:
    try:
        witness = bench.find_witness(mutant.source)
    except NotRunnableError:
        return {"status": UNRUNNABLE}
    return {"status": "", "witness": None if witness is None else witness.to_json()}


def _score(mutant: Mutant, bench: Bench) -> Mapping[str, Any]:
    device, interpreted = bench.place.device, bench.interpreted
    with bench.session(mutant.source) as session:
        if not session.load().ok:
            return {"codes": [DIED], "errors": []}
        verdicts = score_session(session, bench.task, bench.oracle, device=device, interpreted=interpreted, until_refused=True)
    codes, errors = findings(verdicts)
    return {"codes": codes, "errors": errors}
