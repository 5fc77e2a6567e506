"""Examiner: examines one mutant after the other, and keeps what those of one task and of one honest kernel share."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from kcbench.mutants.outcome import FAILED, SURVIVED, Outcome, confirmed, examine, findings
from kcbench.mutants.planted import Planted
from kcbench.mutants.record import Record
from kcbench.mutants.subject import Subject
from kcbench.mutants.witness import Bench
from kcbench.oracle.oracle import TaskOracle
from kcbench.study import Place, score_session


@dataclass(frozen=True)
class _Original:
    """The honest kernel whose mutants are being examined."""

    bench: Bench
    codes: tuple[str, ...]
    errors: tuple[str, ...]


class Examiner:
    """Examines mutants. Use it with ``with``.

    The order matters for the time only: mutants of one subject should follow each other, and subjects of one task.

    Args:
        place: Where kernels run.
        seed: Inputs and trials follow from it.
        equivalents: Ask the gates about mutants without a witness too.
    """

    def __init__(self, place: Place, *, seed: str, equivalents: bool = False) -> None:
        self._place, self._seed, self._equivalents = place, seed, equivalents
        self._stack = ExitStack()
        self._oracle: TaskOracle | None = None
        self._subject = ""
        self._original: _Original | str = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def examine(self, planted: Planted) -> Record:
        """What becomes of a mutant. A survivor has been confirmed; a failure of kcbench itself is an outcome, too."""
        original = self._turn_to(planted.subject)
        start = time.perf_counter()
        if isinstance(original, str):
            return Record(planted, Outcome(planted.mutant, FAILED, errors=(original,)))
        try:
            outcome = examine(planted.mutant, original.bench, equivalents=self._equivalents)
            if outcome.status == SURVIVED:
                outcome = confirmed(outcome, original.bench)
        except Exception as error:  # One mutant must not end a study of thousands.
            outcome = Outcome(planted.mutant, FAILED, errors=(_told(error),))
        return Record(planted, outcome, original.codes, original.errors, time.perf_counter() - start)

    def _turn_to(self, subject: Subject) -> _Original | str:
        """What a subject's mutants are compared with; where that cannot be found out, why not."""
        if subject.id != self._subject:
            self._subject = subject.id
            try:
                self._original = self._measured(subject)
            except Exception as error:
                self._original = f"the honest kernel {subject.id}: {_told(error)}"
        return self._original

    def _measured(self, subject: Subject) -> _Original:
        """Scoring the honest kernel also fills the oracle's caches, which forks then share."""
        place, task = self._place, subject.task
        oracle = self._oracle_of(subject)
        interpreted = subject.language == "triton" and place.device == "cpu"
        bench = Bench(subject.source, task, oracle, interpreted=interpreted, place=place)
        with bench.session(subject.source) as session:
            verdicts = score_session(session, task, oracle, device=place.device, interpreted=interpreted)
        return _Original(bench, *findings(verdicts))

    def _oracle_of(self, subject: Subject) -> TaskOracle:
        if self._oracle is None or self._oracle.task.id != subject.task.id:
            self._oracle = None
            self._stack.close()
            self._oracle = self._stack.enter_context(self._place.oracle(subject.task, seed=f"study/{self._seed}"))
        return self._oracle


def _told(error: Exception) -> str:
    # What failed in a fork comes with its traceback, the last line of which says what.
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0] if len(lines) == 1 else f'{lines[0]} {lines[-1]}'}"
