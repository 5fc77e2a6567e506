"""What do the gates let through? Plants faults in honest kernels and asks the gates about those that are shown to be faults.

    python benchmarks/mutation_study.py --mutants 400 --seed 1 [--task level1/relu ...] [--equivalents] [--json FILE]

Mutants are made of the red team's honest kernels and of the tasks' own models, with equal shares for the fault classes. A mutant
counts once a search that knows nothing of the gates has found a witness: an input inside the contract on which it is wrong beyond
doubt. The gates are asked in this process, and about those that they let through once more with a real worker. Prints a table by
fault class, and every survivor. Exits with 1 if there is one, if an honest kernel is refused, or if a gate fails.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

# Before anything imports Triton: it decides at import in which mode it runs.
os.environ["TRITON_INTERPRET"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

from kcbench.domain.verdict import ERROR, FAIL
from kcbench.engine import Options, evaluate
from kcbench.mutants import Mutant, Subject, mutants, shared_out, subjects
from kcbench.mutants.outcome import EQUIVALENT, REFUSED, SURVIVED, UNRUNNABLE, Outcome, examine
from kcbench.mutants.witness import Bench
from kcbench.oracle.oracle import TaskOracle
from kcbench.study import score_here


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--task", action="append", default=[], help="only this task; may be repeated")
    parser.add_argument("--subject", default="", help="only kernels whose id contains this")
    parser.add_argument("--language", choices=("torch", "triton"), help="only kernels in this language")
    parser.add_argument("--fault", default="", help="only this fault class")
    parser.add_argument("--equivalents", action="store_true", help="ask the gates about mutants without a witness too")
    parser.add_argument("--json", type=Path, help="write one line per mutant")
    options = parser.parse_args()
    # Kernels meet NaN and infinities on purpose.
    warnings.filterwarnings("ignore", category=RuntimeWarning)

    made = [
        (subject, mutant)
        for subject in subjects(options.task)
        if options.subject in subject.id and options.language in (None, "triton" if subject.interpreted else "torch")
        for mutant in mutants(subject.source)
        if options.fault in ("", mutant.fault)
    ]
    chosen = list(shared_out(made, options.mutants, options.seed, of=lambda pair: pair[1]))
    print(f"{len(chosen)} of {len(made)} mutants", flush=True)
    start = time.perf_counter()
    outcomes: list[Outcome] = []
    dishonest = 0
    log = options.json.open("w") if options.json else None
    for subject, bench, mine in _benches(chosen, options.seed):
        dishonest += _refuses_honest(subject, bench)
        for mutant in mine:
            outcome = examine(mutant, bench, equivalents=options.equivalents)
            if outcome.status == SURVIVED:
                outcome = _confirmed(outcome, bench)
            outcomes.append(outcome)
            _tell(subject, outcome)
            if log:
                log.write(json.dumps({"subject": subject.id, **outcome.to_json()}) + "\n")
                log.flush()
    _print_table(outcomes)
    print(f"{time.perf_counter() - start:.0f} s")
    survived = sum(outcome.status == SURVIVED for outcome in outcomes)
    return int(bool(survived or dishonest or any(outcome.errors for outcome in outcomes)))


def _benches(chosen: Iterable[tuple[Subject, Mutant]], seed: str) -> Iterator[tuple[Subject, Bench, list[Mutant]]]:
    """Each subject with what its mutants are compared with; the oracle of a task is shared and then let go."""
    pairs = sorted(chosen, key=lambda pair: (pair[0].task.id, pair[0].id))
    for _, of_task in itertools.groupby(pairs, key=lambda pair: pair[0].task.id):
        oracle: TaskOracle | None = None
        for _, of_subject in itertools.groupby(of_task, key=lambda pair: pair[0].id):
            mine = list(of_subject)
            subject = mine[0][0]
            oracle = oracle or TaskOracle(subject.task, seed=f"study/{seed}")
            yield subject, Bench(subject.source, subject.task, oracle, interpreted=subject.interpreted), [m for _, m in mine]


def _confirmed(outcome: Outcome, bench: Bench) -> Outcome:
    """A survivor asked again through a real worker: what unwritten memory holds depends on the process."""
    options = Options(seed=bench.oracle.seed, legacy=())
    result = evaluate(bench.task, outcome.mutant.source, options=options)
    return dataclasses.replace(outcome, status=REFUSED, codes=result.codes) if result.refused else outcome


def _refuses_honest(subject: Subject, bench: Bench) -> bool:
    """Whether the unmutated kernel is refused; asking also fills the oracle's caches, which the forks then share."""
    verdicts = score_here(subject.source, subject.task, bench.oracle, interpreted=subject.interpreted)
    bad = [verdict for verdict in verdicts if verdict.status in (FAIL, ERROR)]
    for verdict in bad:
        print(f"honest kernel refused: {subject.id}: {verdict.gate} {verdict.code or verdict.reason}", flush=True)
    return bool(bad)


def _tell(subject: Subject, outcome: Outcome) -> None:
    mutant, witness = outcome.mutant, outcome.witness
    what = f"{subject.id} {mutant.id}, line {mutant.line}: {mutant.description}"
    if outcome.status == SURVIVED and witness is not None:
        where = ", ".join(f"{name}={size}" for name, size in witness.sizes.items())
        print(f"survived: {what}\n    {witness.kind}: {witness.detail} ({witness.family}, {witness.dtype}, {where})", flush=True)
    if outcome.status == EQUIVALENT and outcome.codes:
        print(f"refused without a witness: {what}: {', '.join(outcome.codes)}", flush=True)
    for error in outcome.errors:
        print(f"a gate failed: {what}: {error}", flush=True)


def _print_table(outcomes: Iterable[Outcome]) -> None:
    counts: dict[str, collections.Counter[str]] = {}
    for outcome in outcomes:
        for name in (outcome.mutant.fault, "all"):
            counts.setdefault(name, collections.Counter()).update([outcome.status])
    table = Table("fault class", "made", "not runnable", "equivalent", "witnessed", "refused", "survivors")
    for name in sorted(counts, key=lambda item: (item == "all", item)):
        count = counts[name]
        witnessed = count[REFUSED] + count[SURVIVED]
        numbers = (count.total(), count[UNRUNNABLE], count[EQUIVALENT], witnessed, count[REFUSED], count[SURVIVED])
        table.add_row(name, *map(str, numbers))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
