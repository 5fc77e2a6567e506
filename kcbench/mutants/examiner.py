"""Examiner: examines one mutant after the other, and keeps what those of one task and of one honest kernel share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from kcbench.mutants.outcome import FAILED, SURVIVED, Outcome, confirmed, examine
from kcbench.mutants.planted import Planted
from kcbench.mutants.record import Record
from kcbench.mutants.subject import Subject
from kcbench.mutants.witness import Bench
from kcbench.study import Place, score_session
from kcbench.study.failure import told
from kcbench.study.oracles import Oracles
from kcbench.study.panel import Panel
from kcbench.study.ruling import Ruling


@dataclass(frozen=True)
class _Original:
    """The honest kernel whose mutants are being examined."""

    bench: Bench
    ruling: Ruling
    panel: Panel | None


class Examiner:
    """Examines mutants. Use it with ``with``.

    The order matters for the time only: mutants of one subject should follow each other, and subjects of one task.

    Args:
        place: Where kernels run.
        seed: Inputs and trials follow from it.
        equivalents: Ask the gates about mutants without a witness too.
        every_gate: Ask the other gates as well after one has refused a mutant.
        checkers: Ask the other published checkers about those with one; on a CPU only.
    """

    def __init__(
        self, place: Place, *, seed: str, equivalents: bool = False, every_gate: bool = False, checkers: bool = False
    ) -> None:
        self._place, self._equivalents, self._every_gate, self._checkers = place, equivalents, every_gate, checkers
        self._oracles = Oracles(place, seed=seed)
        self._subject = ""
        self._original: _Original | str = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._oracles.close()

    def examine(self, planted: Planted) -> Record:
        """What becomes of a mutant. A survivor has been confirmed; a failure of kcbench itself is an outcome, too."""
        original = self._turn_to(planted.subject)
        start = time.perf_counter()
        if isinstance(original, str):
            return Record(planted, Outcome(planted.mutant, FAILED, errors=(original,)))
        try:
            outcome = examine(
                planted.mutant,
                original.bench,
                equivalents=self._equivalents,
                every_gate=self._every_gate,
                panel=original.panel,
            )
            if outcome.status == SURVIVED:
                outcome = confirmed(outcome, original.bench)
        except Exception as error:  # One mutant must not end a study of thousands.
            outcome = Outcome(planted.mutant, FAILED, errors=(told(error),))
        honest = original.ruling
        return Record(planted, outcome, honest.codes, honest.errors, time.perf_counter() - start)

    def _turn_to(self, subject: Subject) -> _Original | str:
        """What a subject's mutants are compared with; where that cannot be found out, why not."""
        if subject.id != self._subject:
            self._subject = subject.id
            try:
                self._original = self._measured(subject)
            except Exception as error:
                self._original = f"the honest kernel {subject.id}: {told(error)}"
        return self._original

    def _measured(self, subject: Subject) -> _Original:
        """Scoring the honest kernel also fills the oracle's caches, which forks then share."""
        place, task = self._place, subject.task
        oracle = self._oracles.of(task)
        interpreted = subject.language == "triton" and place.device == "cpu"
        bench = Bench(subject.source, task, oracle, interpreted=interpreted, place=place)
        with bench.session(subject.source) as session:
            verdicts = score_session(session, task, oracle, device=place.device, interpreted=interpreted)
        panel = None
        if self._checkers:
            panel = Panel(place, task, subject.source, interpreted=interpreted, seed=oracle.seed)
        return _Original(bench, Ruling.of(verdicts), panel)
