"""fast_p and pass@k, as KernelBench defines them, once for its own verdict and once for the contract's.

fast_p is the share of kernels that are correct and more than p times as fast as a baseline: mean time over mean time, as
KernelBench has it, so that its own script finds the same figures. (:meth:`kcbench.domain.timing.Timing.speedup` takes medians.)
It is taken over all submissions with sample id 0 of a level: what could not be loaded, run here, or timed is in the denominator.
A kernel that is correct counts for p = 0 whether or not it was timed, so that fast_0 is the share of correct kernels.

pass@k is the chance that at least one of k samples is correct, drawn without replacement from those of a problem
(Chen et al., arXiv 2107.03374, section 2.1), averaged over the problems that have at least k samples.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcbench.domain.result import Result
from kcbench.domain.timing import Timing
from kcbench.report.gap import accepts, legacy_score

P_VALUES = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
K_VALUES = (1, 2, 5, 10, 20, 50, 100)
LEGACY = "kernelbench-v1"
"""The legacy check whose verdict the published figures rest on."""
CONTRACT = "contract"
"""The other verdict: correct is what no gate refuses."""


def fast_p(correct: Sequence[bool], speedups: Sequence[float | None], p: float) -> float:
    """Share of kernels that are correct and have a speedup above p; 0 where there are none.

    Args:
        correct: Which kernels are correct.
        speedups: Their speedups over the baseline; None where there is no time. The bound is strict.
        p: The bound; at p = 0 a correct kernel counts without a time, too.
    """
    quick = sum(ok and (p == 0 or (ratio is not None and ratio > p)) for ok, ratio in zip(correct, speedups, strict=True))
    return quick / len(correct) if correct else 0.0


def speedup(timing: Timing, baseline: str) -> float | None:
    """How many times as fast as a baseline, mean over mean; None where there is no such baseline, or no measurable time."""
    known = timing.baselines.get(baseline)
    return known.mean_ms / timing.mean_ms if known is not None and min(known.mean_ms, timing.mean_ms) > 0 else None


def geometric_mean(values: Iterable[float]) -> float | None:
    """Geometric mean of positive numbers, by logarithms so that no product overflows; None where there are none."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of the chance that one of k samples is correct: 1 - C(n-c, k) / C(n, k).

    Args:
        n: Samples.
        c: Correct ones among them.
        k: Draws, at least 1 and at most n.
    """
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"no pass@{k} of {c} correct among {n}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


@dataclass(frozen=True)
class Sample:
    """One submission that has a place in the suite."""

    level: int | None
    problem_id: int
    sample_id: int
    correct: Mapping[str, bool]
    """By verdict, :data:`LEGACY` and :data:`CONTRACT`."""
    speedups: Mapping[str, float]
    """By baseline; those that were measured."""
    result: Result


@dataclass(frozen=True)
class Line:
    """One line of the table: one level, one verdict, one baseline."""

    level: int | None
    judge: str
    baseline: str
    """Empty where nothing was timed."""
    kernels: int
    """Submissions with sample id 0: the denominator."""
    correct: int
    timed: int
    """Those of the correct ones that have a speedup."""
    shares: tuple[float | None, ...]
    """By :data:`P_VALUES`; None where nothing was timed and p is above 0."""
    mean: float | None
    """Geometric mean of the speedups of correct kernels."""


@dataclass(frozen=True)
class PassLine:
    """pass@k of one level and verdict."""

    level: int | None
    judge: str
    problems: int
    samples: int
    shares: tuple[tuple[int, float, int], ...]
    """k, the average, and the number of problems that it is taken over."""


@dataclass(frozen=True)
class Scores:
    """What a run over a suite amounts to."""

    lines: tuple[Line, ...]
    passes: tuple[PassLine, ...]
    samples: tuple[Sample, ...]
    """What was counted, by level, problem and sample."""
    placeless: int
    """Submissions without a place in the suite, which are left out."""


def measure(results: Sequence[Result], header: Mapping[str, Any]) -> Scores | None:
    """The figures of a run; None where no submission comes from a suite.

    Args:
        results: What the run says.
        header: ``run.json``.
    """
    from_suite = [result for result in results if result.submission.get("origin")]
    if not from_suite:
        return None
    judges = tuple(judge for judge in (LEGACY, CONTRACT) if judge != LEGACY or _has_legacy(from_suite, header))
    placed = {sample.result.id: sample for result in from_suite if (sample := _sample(result, judges)) is not None}
    by_place = {(sample.level, sample.problem_id, sample.sample_id): sample for sample in placed.values()}
    samples = tuple(by_place[place] for place in sorted(by_place, key=lambda place: (place[0] or 0, *place[1:])))
    levels: dict[int | None, list[Sample]] = defaultdict(list)
    for sample in samples:
        levels[sample.level].append(sample)
    baselines = baseline_names(samples, header) or ("",)
    lines = [
        _line(level, judge, baseline, [sample for sample in mine if sample.sample_id == 0])
        for level, mine in levels.items()
        for baseline in baselines
        for judge in judges
    ]
    passes = [_pass_line(level, judge, mine) for level, mine in levels.items() for judge in judges]
    return Scores(tuple(lines), tuple(passes), samples, len(from_suite) - len(samples))


def baseline_names(samples: Iterable[Sample], header: Mapping[str, Any]) -> tuple[str, ...]:
    """The baselines that something was timed against: those that the header names first, then others."""
    wanted = header.get("options", {}).get("timing", ())
    found = {name for sample in samples if sample.result.timing is not None for name in sample.result.timing.baselines}
    return tuple(dict.fromkeys((*(name for name in wanted if name in found), *sorted(found))))


def _has_legacy(results: Sequence[Result], header: Mapping[str, Any]) -> bool:
    return LEGACY in header.get("legacy", ()) or any(legacy_score(result, LEGACY) is not None for result in results)


def _sample(result: Result, judges: Sequence[str]) -> Sample | None:
    origin = result.submission["origin"]
    problem_id, sample_id = origin["problem_id"], origin["sample_id"]
    if problem_id is None or sample_id is None:
        return None
    score = legacy_score(result, LEGACY)
    verdicts = {LEGACY: score is not None and accepts(score), CONTRACT: result.clean}
    timing = result.timing
    speedups = {} if timing is None else {name: speedup(timing, name) for name in timing.baselines}
    return Sample(
        origin["level"],
        problem_id,
        sample_id,
        {judge: verdicts[judge] for judge in judges},
        {name: ratio for name, ratio in speedups.items() if ratio is not None},
        result,
    )


def _line(level: int | None, judge: str, baseline: str, samples: Sequence[Sample]) -> Line:
    correct = [sample.correct[judge] for sample in samples]
    speedups = [sample.speedups.get(baseline) for sample in samples]
    timed = [ratio for ok, ratio in zip(correct, speedups, strict=True) if ok and ratio is not None]
    shares = tuple(fast_p(correct, speedups, p) if baseline or p == 0 else None for p in P_VALUES)
    return Line(level, judge, baseline, len(samples), sum(correct), len(timed), shares, geometric_mean(timed))


def _pass_line(level: int | None, judge: str, samples: Sequence[Sample]) -> PassLine:
    problems: dict[int, list[bool]] = defaultdict(list)
    for sample in samples:
        problems[sample.problem_id].append(sample.correct[judge])
    shares = []
    for k in K_VALUES:
        chances = [pass_at_k(len(mine), sum(mine), k) for mine in problems.values() if len(mine) >= k]
        if chances:
            shares.append((k, math.fsum(chances) / len(chances), len(chances)))
    return PassLine(level, judge, len(problems), len(samples), tuple(shares))
