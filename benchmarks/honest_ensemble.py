"""Do the gates let honest kernels through? Proves and scores the variants of :mod:`kcbench.ensemble`, on the CPU.

    python benchmarks/honest_ensemble.py [--task level1/softmax] [--limit 10] [--language torch] [--seed S] [--json FILE]

Prints every variant that is not proven and every one that is refused, then what was counted per task and how close to the line
each gate's worst check of a proven variant came. Exits with 1 if a proven variant is refused: then a gate is wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import sys
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

# Triton reads it when it is imported, and a process can only do one of the two.
os.environ.setdefault("TRITON_INTERPRET", "1")

from kcbench.domain.verdict import ERROR, FAIL, Verdict
from kcbench.ensemble import TORCH, TRITON, Variant, all_variants
from kcbench.ensemble.proof import Proof, prove
from kcbench.errors import KcbenchError
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.score import score_here
from kcbench.tasks import load_task


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was found of one variant."""

    variant: Variant
    proof: Proof
    verdicts: tuple[Verdict, ...]
    problem: str
    """Why it could not be scored; empty where it was."""
    seconds: float

    @property
    def state(self) -> str:
        if self.problem or any(verdict.status == ERROR for verdict in self.verdicts):
            return "error"
        return "refused" if any(verdict.status == FAIL for verdict in self.verdicts) else "clean"

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.variant.id,
            "task": self.variant.task,
            "language": self.variant.language,
            "state": self.state,
            "problem": self.problem,
            "proven": self.proof.proven,
            "faults": list(self.proof.faults),
            "proof_worst": self.proof.worst,
            "seconds": round(self.seconds, 3),
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", action="append", help="only this task; may be repeated")
    parser.add_argument("--limit", type=int, help="so many variants of each task and language, spread over all of them")
    parser.add_argument("--language", choices=("torch", "triton"))
    parser.add_argument("--seed", default="ensemble")
    parser.add_argument("--json", type=Path, help="write one line per variant")
    options = parser.parse_args()
    # An interpreted kernel computes with NaN on purpose, and numpy warns of each.
    warnings.filterwarnings("ignore", category=RuntimeWarning)

    log = options.json.open("w", encoding="utf-8") if options.json else None
    outcomes: list[Outcome] = []
    for task_id, group in itertools.groupby(_chosen(options), key=lambda variant: variant.task):
        task = load_task(task_id)
        oracle = TaskOracle(task, seed=options.seed)
        for variant in group:
            outcome = _examine(variant, oracle)
            outcomes.append(outcome)
            _tell(outcome)
            if log:
                log.write(json.dumps(outcome.to_json()) + "\n")
                log.flush()
    _summarize(outcomes)
    return int(any(outcome.proof.proven and outcome.state != "clean" for outcome in outcomes))


def _chosen(options: argparse.Namespace) -> list[Variant]:
    wanted = [
        variant
        for variant in all_variants()
        if variant.task in (options.task or [variant.task]) and variant.language == (options.language or variant.language)
    ]
    if options.limit is None:
        return wanted
    groups: defaultdict[tuple[str, str], list[Variant]] = defaultdict(list)
    for variant in wanted:
        groups[variant.task, variant.language].append(variant)
    chosen = []
    for items in groups.values():
        count = min(options.limit, len(items))
        chosen += [items[place * len(items) // count] for place in range(count)]
    return chosen


def _examine(variant: Variant, oracle: TaskOracle) -> Outcome:
    start = time.perf_counter()
    proof = prove(variant, oracle)
    verdicts: tuple[Verdict, ...] = ()
    problem = ""
    try:
        verdicts = score_here(variant.source, oracle.task, oracle, interpreted=variant.language == TRITON)
    except KcbenchError as error:
        problem = str(error)
    return Outcome(variant, proof, verdicts, problem, time.perf_counter() - start)


def _tell(outcome: Outcome) -> None:
    if not outcome.proof.proven:
        print(f"not proven: {outcome.variant.id}: {'; '.join(outcome.proof.faults[:3])}")
    if outcome.state != "clean":
        print(f"{outcome.state}: {outcome.variant.id} {outcome.problem}")
        for verdict in outcome.verdicts:
            for finding in verdict.findings:
                ratio = finding.evidence.get("ratio", "")
                print(f"    {verdict.gate}.{finding.code} {ratio}: {finding.summary}")
            if verdict.status == ERROR:
                print(f"    {verdict.gate} ERROR: {verdict.reason}")
    sys.stdout.flush()


def _summarize(outcomes: list[Outcome]) -> None:
    print(f"\n{'task':26} torch triton proven clean refused error seconds  worst ratio, gate, variant")
    for task, group in itertools.groupby(outcomes, key=lambda outcome: outcome.variant.task):
        mine = list(group)
        languages = Counter(outcome.variant.language for outcome in mine)
        states = Counter(outcome.state for outcome in mine)
        proven, seconds = sum(outcome.proof.proven for outcome in mine), sum(outcome.seconds for outcome in mine)
        ratio, gate, name = max(_ratios(mine), default=(0.0, "", ""))
        print(
            f"{task:26} {languages[TORCH]:5} {languages[TRITON]:6} {proven:6} {states['clean']:5} {states['refused']:7} "
            f"{states['error']:5} {seconds:7.0f}  {ratio:.3g} {gate} {name.removeprefix(task + '/')}"
        )
    print("\nworst ratio of a proven variant by gate")
    by_gate: dict[str, tuple[float, str]] = {}
    for ratio, gate, name in _ratios(outcomes):
        by_gate[gate] = max(by_gate.get(gate, (0.0, "")), (ratio, name))
    for gate, (ratio, name) in sorted(by_gate.items()):
        print(f"{gate:7} {ratio:8.3g}  {name}")


def _ratios(outcomes: list[Outcome]) -> list[tuple[float, str, str]]:
    """(ratio to the line, gate, variant) for every gate that measured a proven variant."""
    return [
        (float(verdict.metrics["worst_ratio"]), verdict.gate, outcome.variant.id)
        for outcome in outcomes
        if outcome.proof.proven
        for verdict in outcome.verdicts
        if "worst_ratio" in verdict.metrics
    ]


if __name__ == "__main__":
    sys.exit(main())
