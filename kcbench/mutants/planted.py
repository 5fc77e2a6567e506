"""Planted: a mutant together with the honest kernel that it was made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from kcbench.mutants.mutant import Mutant, mutants
from kcbench.mutants.subject import Subject, subjects


@dataclass(frozen=True)
class Planted:
    """A mutant and its honest original."""

    subject: Subject
    mutant: Mutant

    @property
    def id(self) -> str:
        """The subject's id and the mutant's, for example ``level1/relu/model/result-off-8c1d0a6f2b``."""
        return f"{self.subject.id}/{self.mutant.id}"

    @property
    def task(self) -> str:
        """The id of its task."""
        return self.subject.task.id

    @property
    def group(self) -> str:
        """Its subject's id: before a mutant is examined, all must be known that its original does."""
        return self.subject.id

    @property
    def language(self) -> str:
        """``torch`` or ``triton``."""
        return self.subject.language


def plant(tasks: Iterable[str] = (), *, only: str = "", language: str = "", faults: Collection[str] = ()) -> Iterator[Planted]:
    """All mutants of all subjects, or of some.

    Args:
        tasks: Ids of the tasks to take; all if there are none.
        only: Text that the id of a mutant must hold.
        language: ``torch`` or ``triton``, for kernels in one language.
        faults: Fault classes to take; all if there are none.

    Raises:
        KcbenchError: There is no such task.
    """
    for subject in subjects(tasks):
        if language in ("", subject.language):
            for mutant in mutants(subject.source):
                found = Planted(subject, mutant)
                if only in found.id and (not faults or mutant.fault in faults):
                    yield found
