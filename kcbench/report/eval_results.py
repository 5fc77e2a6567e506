"""The files that KernelBench's own scripts read: results, pass@k and baseline times, in its shapes.

======================================  ==========================================================================================
file                                    content
======================================  ==========================================================================================
``eval_results.json``                   by problem id a list of samples; ``correctness`` is kernelbench-v1's verdict
``eval_results_honest.json``            the same, where ``correctness`` is the contract's verdict
``pass_at_k_results.json``              averages, metadata and problems, by kernelbench-v1's verdict
``pass_at_k_results_honest.json``       the same by the contract's
``baseline_time_<baseline>.json``       by level and problem file the times of the baseline
======================================  ==========================================================================================

Where a run has several levels, all but the baselines lie in folders ``level_<L>/``, since KernelBench keeps one level in one
folder. Times are in milliseconds, and -1 where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcbench.domain.result import Result
from kcbench.domain.timing import EXCESSIVE_SPEEDUP, Stats
from kcbench.report.explain import outcome
from kcbench.report.fast_p import CONTRACT, K_VALUES, LEGACY, Sample, baseline_names, measure, pass_at_k
from kcbench.report.gap import legacy_score
from kcbench.report.text import one_line

SUFFIX = {LEGACY: "", CONTRACT: "_honest"}
FLAT = tuple(f"{name}{suffix}.json" for name in ("eval_results", "pass_at_k_results") for suffix in SUFFIX.values())
"""Files that lie in the run folder itself where the run has one level."""

UNMEASURED = -1.0

_IMPORT = re.compile(r"the import failed: (\w[\w.]*)(?::|$)")


def files(results: Sequence[Result], header: Mapping[str, Any]) -> dict[str, Any]:
    """The files of a run by their names below the run folder; none where no submission comes from a suite.

    Args:
        results: What the run says.
        header: ``run.json``.
    """
    scores = measure(results, header)
    if scores is None:
        return {}
    levels = list(dict.fromkeys(sample.level for sample in scores.samples))
    judges = list(dict.fromkeys(line.judge for line in scores.passes))
    found: dict[str, Any] = {}
    for level in levels:
        mine = [sample for sample in scores.samples if sample.level == level]
        folder = "" if len(levels) == 1 else f"{level_name(level, '_')}/"
        for judge in judges:
            found[f"{folder}eval_results{SUFFIX[judge]}.json"] = _results(mine, judge, header)
            found[f"{folder}pass_at_k_results{SUFFIX[judge]}.json"] = _pass_at_k(mine, judge)
    for baseline in baseline_names(scores.samples, header):
        found[f"baseline_time_{baseline}.json"] = _baseline(scores.samples, baseline, header)
    return found


def level_name(level: int | None, between: str = "") -> str:
    """``level1`` or ``level_1``; ``no_level`` where there is none."""
    return "no_level" if level is None else f"level{between}{level}"


def _results(samples: Iterable[Sample], judge: str, header: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for sample in samples:
        found.setdefault(str(sample.problem_id), []).append(_entry(sample, judge, header))
    return found


def _entry(sample: Sample, judge: str, header: Mapping[str, Any]) -> dict[str, Any]:
    result, timing = sample.result, sample.result.timing
    place = _place(result, header)
    score = legacy_score(result, LEGACY)
    compiled = score.compiled if score is not None else result.status == "scored"
    return {
        "sample_id": sample.sample_id,
        "compiled": compiled,
        "correctness": sample.correct[judge],
        "metadata": {**place, **_reasons(sample, judge), **_about_time(result), "kcbench": _facts(result)},
        "runtime": UNMEASURED if timing is None else timing.mean_ms,
        "runtime_stats": {} if timing is None else _stats(timing, place),
    }


def _stats(times: Stats, place: Mapping[str, str]) -> dict[str, Any]:
    return {
        "mean": times.mean_ms,
        "std": times.std_ms,
        "min": times.min_ms,
        "max": times.max_ms,
        "num_trials": times.trials,
        **place,
    }


def _place(result: Result, header: Mapping[str, Any]) -> dict[str, str]:
    device = header.get("device", {})
    name, kind = device.get("name", ""), result.environment.get("device") or device.get("kind", "")
    if kind == "cuda":  # A run can be resumed on another card.
        name = result.environment.get("device_name") or name
    return {"hardware": one_line(name), "device": "cuda:0" if kind == "cuda" else one_line(kind)}


def _facts(result: Result) -> dict[str, Any]:
    """What kcbench adds: KernelBench's scripts read no metadata that they do not know."""
    return {
        "submission": result.id,
        "verdict": outcome(result),
        "codes": list(result.codes),
        "legacy_size": next((score.size for score in result.legacy), None),
        "timing_flags": [] if result.timing is None else list(result.timing.flags),
    }


def _about_time(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"error_during_performance": one_line(result.untimed)} if result.untimed else {}
    if result.timing is not None and EXCESSIVE_SPEEDUP in result.timing.flags:
        found["excessive_speedup"] = True
    return found


def _reasons(sample: Sample, judge: str) -> dict[str, Any]:
    """Why a kernel is not correct, under the keys that KernelBench uses."""
    result, score = sample.result, legacy_score(sample.result, LEGACY)
    reason = one_line(result.reason)
    if result.status in ("skipped", "error"):
        return {"error": reason, "error_name": result.status}
    if result.status == "unloadable":
        kind = _IMPORT.match(reason)
        name = kind[1] if kind else "SyntaxError" if reason.startswith("syntax error") else "unloadable"
        return {"compilation_error_name": name, "compilation_error": reason}
    if judge == CONTRACT:
        wrong = {} if sample.correct[judge] else {"correctness_issue": ", ".join(result.codes) or "no verdict"}
        return {**({"correctness_trials": score.trials} if score is not None else {}), **wrong}
    if score is None:
        return {"error": "the legacy check was not run", "error_name": "skipped"}
    found: dict[str, Any] = {"correctness_trials": score.trials}
    if score.correct:
        return found
    why = one_line(score.reason)
    if why.startswith("runtime error: "):
        text = why.removeprefix("runtime error: ")
        return {**found, "runtime_error": text, "runtime_error_name": text.partition(":")[0]}
    differences = [f"{value:.6f}" for value in score.max_difference]
    return {**found, "correctness_issue": why, "max_difference": differences}


def _pass_at_k(samples: Sequence[Sample], judge: str) -> dict[str, Any]:
    correct: dict[str, list[bool]] = {}
    for sample in samples:
        correct.setdefault(str(sample.problem_id), []).append(sample.correct[judge])
    problems: dict[str, dict[str, Any]] = {}
    for name, mine in correct.items():
        chances = {f"pass@{k}": pass_at_k(len(mine), sum(mine), k) for k in K_VALUES if k <= len(mine)}
        problems[name] = {"total_samples": len(mine), "correct_samples": sum(mine), **chances}
    averages, counts = {}, {}
    for k in K_VALUES:
        found = [item[f"pass@{k}"] for item in problems.values() if f"pass@{k}" in item]
        if found:
            averages[f"avg_pass@{k}"] = sum(found) / len(found)
            counts[f"pass@{k}_count"] = len(found)
    metadata = {
        "total_problems": len(problems),
        "problems_with_samples": len(problems),
        "total_evaluated_samples": len(samples),
        "total_correct_samples": sum(map(sum, correct.values())),
        **counts,
    }
    return {"averages": averages, "metadata": metadata, "problems": problems}


def _baseline(samples: Sequence[Sample], baseline: str, header: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Times of a baseline by level and file, the one measured beside the lowest sample.

    KernelBench's script leaves a problem without a baseline out of its denominator. So that no share rises because a kernel could
    not be timed, a problem with a sample 0 has an entry all the same: no trials and a time of zero, with which nothing is fast.
    """
    found: dict[str, dict[str, Any]] = {}
    for sample in samples:
        timing = sample.result.timing
        times = timing.baselines.get(baseline) if timing is not None else None
        level = found.setdefault(level_name(sample.level), {})
        name = f"{sample.result.task.partition('/')[2]}.py"
        if times is not None and level.get(name, {"num_trials": 0})["num_trials"] == 0:
            level[name] = _stats(times, _place(sample.result, header))
        elif times is None and sample.sample_id == 0:
            nothing = {"mean": 0.0, "std": 0.0, "min": 0.0, "max": 0.0, "num_trials": 0}
            level.setdefault(name, {**nothing, **_place(sample.result, header)})
    return found
