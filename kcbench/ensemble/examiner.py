"""Examiner: proves and scores one variant after the other, and keeps what those of one task share."""

from __future__ import annotations

import dataclasses
import time
from types import TracebackType
from typing import Self

from kcbench.domain.task import Task
from kcbench.ensemble.proof import Proof, prove
from kcbench.ensemble.record import Record
from kcbench.ensemble.variant import TRITON, Variant
from kcbench.study import Place, score_session
from kcbench.study.failure import told
from kcbench.study.opinions import Opinions
from kcbench.study.oracles import Oracles
from kcbench.study.panel import Panel
from kcbench.study.ruling import Ruling
from kcbench.tasks import load_task


class Examiner:
    """Examines variants. Use it with ``with``.

    The order matters for the time only: variants of one group should follow each other, and groups of one task.

    Args:
        place: Where kernels run.
        seed: Inputs and cases follow from it.
        checkers: Ask the other published checkers about those that are proven; on a CPU only.
    """

    def __init__(self, place: Place, *, seed: str, checkers: bool = False) -> None:
        self._place, self._checkers = place, checkers
        self._oracles = Oracles(place, seed=seed)
        self._group = ""
        self._panel: Panel | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._oracles.close()

    def examine(self, variant: Variant) -> Record:
        """What becomes of a variant; a failure of kcbench itself is told, too."""
        start = time.perf_counter()
        record = Record(variant)
        try:
            task = load_task(variant.task)
            record = Record(variant, self._proof(variant, task))
            record = self._scored(record, task)
            if self._checkers and record.proof.proven:
                record = dataclasses.replace(record, opinions=self._opinions(variant, task))
        except Exception as error:  # One variant must not end a study of hundreds.
            ruling = dataclasses.replace(record.ruling, errors=(*record.ruling.errors, told(error)))
            record = dataclasses.replace(record, ruling=ruling)
        return dataclasses.replace(record, seconds=time.perf_counter() - start)

    def _proof(self, variant: Variant, task: Task) -> Proof:
        interpreted = self._interpreted(variant)
        with self._place.open(variant.source, interpreted=interpreted) as session:
            return prove(variant, session, self._oracles.of(task), interpreted=interpreted)

    def _scored(self, record: Record, task: Task) -> Record:
        interpreted, device = self._interpreted(record.variant), self._place.device
        with self._place.open(record.variant.source, interpreted=interpreted) as session:
            verdicts = score_session(session, task, self._oracles.of(task), device=device, interpreted=interpreted)
        findings = tuple(f"{item.gate}.{found.code}: {found.summary}" for item in verdicts for found in item.findings)
        return dataclasses.replace(record, ruling=Ruling.of(verdicts), findings=findings)

    def _interpreted(self, variant: Variant) -> bool:
        return variant.language == TRITON and self._place.device == "cpu"

    def _opinions(self, variant: Variant, task: Task) -> Opinions:
        """The first variant of a group that is proven shows how long an answer takes."""
        if self._panel is None or variant.group != self._group:
            seed = self._oracles.of(task).seed
            self._panel = Panel(self._place, task, variant.source, interpreted=self._interpreted(variant), seed=seed)
            self._group = variant.group
        return self._panel.opinions(variant.source)
