"""Study: many mutants examined by several processes."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from functools import partial

from kcbench.mutants.examiner import Examiner
from kcbench.mutants.planted import Planted
from kcbench.mutants.record import Record
from kcbench.study.processes import in_processes


def run_study(
    planted: Sequence[Planted],
    *,
    seed: str,
    device: str = "cpu",
    jobs: int = 1,
    equivalents: bool = False,
    every_gate: bool = False,
    checkers: bool = False,
    stop: threading.Event | None = None,
) -> Generator[Record, None, None]:
    """Examine mutants.

    Args:
        planted: The mutants.
        seed: Inputs and trials follow from it.
        device: Where kernels run: ``cpu`` (in forks) or ``cuda`` (in workers; Triton kernels come first there).
        jobs: How many processes.
        equivalents: Ask the gates about mutants without a witness too.
        every_gate: Ask the other gates as well after one has refused a mutant.
        checkers: Ask the other published checkers about those with one; on a CPU only.
        stop: When set, no further mutant is begun.

    Returns:
        What became of each, in the order in which they are done. Close it, so that no process is left behind.
    """
    begin = partial(Examiner, seed=seed, equivalents=equivalents, every_gate=every_gate, checkers=checkers)
    return in_processes(planted, begin, Record.from_json, device=device, jobs=jobs, stop=stop)
