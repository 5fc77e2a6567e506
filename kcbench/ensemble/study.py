"""Study: many variants proven and scored by several processes."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from functools import partial

from kcbench.ensemble.examiner import Examiner
from kcbench.ensemble.record import Record
from kcbench.ensemble.variant import Variant
from kcbench.study.processes import in_processes


def run_study(
    variants: Sequence[Variant],
    *,
    seed: str,
    device: str = "cpu",
    jobs: int = 1,
    checkers: bool = False,
    stop: threading.Event | None = None,
) -> Generator[Record, None, None]:
    """Prove and score variants.

    Args:
        variants: The variants.
        seed: Inputs and cases follow from it.
        device: Where kernels run: ``cpu`` or ``cuda`` (in workers; Triton kernels come first there).
        jobs: How many processes.
        checkers: Ask the other published checkers about those that are proven; on a CPU only.
        stop: When set, no further variant is begun.

    Returns:
        What became of each, in the order in which they are done. Close it, so that no process is left behind.
    """
    begin = partial(Examiner, seed=seed, checkers=checkers)
    return in_processes(variants, begin, Record.from_json, device=device, jobs=jobs, stop=stop)
