"""Check: do new studies, made from the committed seeds, still bear the committed figures out?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kcbench.calibration.committed import Committed, Draw
from kcbench.calibration.figures import Figures, measure
from kcbench.calibration.rows import read_broken, read_honest
from kcbench.errors import KcbenchError
from kcbench.numerics.statistics import Interval
from kcbench.report.proportion import Proportion
from kcbench.report.text import number

FACTOR = 1.5
"""How much larger than committed the largest ratio of an honest kernel may come out: another processor sums in another order."""
FLOOR = 0.05
"""A ratio up to this is never held against a gate: at a twentieth of the line, a factor says nothing."""
WHOLE = (300, 250)
"""Most variants and mutants that are studied anew: less than an hour on two cores."""
QUICK = (24, 16)
"""The same with ``--quick``, in torch only, for an interpreted kernel takes many times as long: some three minutes."""


@dataclass(frozen=True)
class Finding:
    """One committed figure beside the new one."""

    what: str
    committed: str
    found: str
    holds: bool


def check(committed: Committed, *, quick: bool, jobs: int | None, quiet: bool) -> tuple[Finding, ...]:
    """Make both studies anew and compare.

    Args:
        committed: What they have to bear out.
        quick: Take few kernels.
        jobs: How many to study at the same time; as the studies choose if not given.
        quiet: Show no progress.

    Raises:
        KcbenchError: Nothing was committed yet, or a study ended without figures.
    """
    if not committed.variants.count or not committed.mutants.count:
        raise KcbenchError("nothing is calibrated yet", fix="kcbench calibrate --variants FILE --mutants FILE --write")
    most_variants, most_mutants = QUICK if quick else WHOLE
    variants, mutants = _fewer(committed.variants, most_variants, quick), _fewer(committed.mutants, most_mutants, quick)
    with tempfile.TemporaryDirectory(prefix="kcbench-calibrate-") as folder:
        honest, broken = Path(folder, "variants.jsonl"), Path(folder, "mutants.jsonl")
        more = [*(("--jobs", str(jobs)) if jobs else ()), *(("--quiet",) if quiet else ())]
        _study("variants", variants, honest, more)
        _study("mutants", mutants, broken, more)
        figures = measure(read_honest(honest), read_broken(broken))
    same = (variants, mutants) == (committed.variants, committed.mutants)
    return tuple(compare(committed, figures, same=same))


def _fewer(draw: Draw, most: int, quick: bool) -> Draw:
    """Some kernels of a study, as the same seed draws them."""
    return replace(draw, count=min(draw.count, most), language="torch" if quick else draw.language)


def _study(what: str, draw: Draw, path: Path, more: Sequence[str]) -> None:
    command = [sys.executable, "-m", "kcbench", "redteam", f"--{what}", str(draw.count), "--seed", draw.seed, "--device", "cpu"]
    command += ["--language", draw.language] if draw.language else []
    # Its tables are not of interest; progress and complaints are.
    code = subprocess.run([*command, "--json", str(path), *more], stdout=subprocess.DEVNULL, check=False).returncode
    if code not in (0, 1):
        raise KcbenchError(f"the study ended with exit code {code}", where=f"kcbench redteam --{what}")


def compare(committed: Committed, figures: Figures, *, same: bool) -> Iterator[Finding]:
    """Compare a new study with the committed one.

    Args:
        committed: The figures that have to hold.
        figures: The new ones.
        same: Both studies are of the same kernels. Then the new share itself has to reach the committed 95 % interval; if only a
            part was studied anew, its own interval has to.
    """
    alarms, most = figures.alarms, committed.alarms.interval[1]
    yield Finding("false alarms", str(committed.alarms), str(alarms), _ends(alarms, same)[0] <= most)
    worst = {(item.gate, item.dtype): item.worst for item in figures.spreads}
    for (gate, dtype), ratio in committed.honest_worst.items():
        found = worst.get((gate, dtype))
        holds = found is None or found <= max(FACTOR * ratio, FLOOR)
        yield Finding(f"honest worst, {gate} {dtype}", number(ratio, 3), "-" if found is None else number(found, 3), holds)
    shares = {item.fault: item.whole for item in figures.detections}
    for fault, share in committed.detection.items():
        again = shares.get(fault, Proportion(0, 0))
        yield Finding(f"detection, {fault}", str(share), str(again), _ends(again, same)[1] >= share.interval[0])


def _ends(found: Proportion, same: bool) -> Interval:
    return (found.share, found.share) if same and found.share is not None else found.interval
