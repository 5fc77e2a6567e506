"""fast_p and pass@k in words and tables: the same for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcbench.report.fast_p import CONTRACT, LEGACY, P_VALUES, Sample, Scores
from kcbench.report.gap import legacy_score
from kcbench.report.text import count, one_line

TITLE = "fast_p"
NAMES = {LEGACY: "legacy", CONTRACT: "honest"}

_DEFINITION = (
    "fast_p is the share of kernels that are correct and more than p times as fast as the baseline (mean time over mean time). "
    "Its denominator is every submission with sample id 0 of the level; what could not be loaded, run or timed is in it."
)
_VERDICTS = f"Legacy: correct is what {LEGACY} accepts. Honest: correct is what was scored and no gate of the contract refuses."
_PASS = "pass@k is the chance that one of k samples of a problem is correct, averaged over the problems with at least k samples."
_UNTIMED = "Nothing was timed: only fast_0, the share of correct kernels, is known. --timing eager times them."


@dataclass(frozen=True)
class Grid:
    """A small table of text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    """How many of the first columns hold words; the others hold numbers."""


def grids(scores: Scores) -> tuple[Grid, ...]:
    """The table of fast_p, and the table of pass@k."""
    fast = Grid(
        ("level", "correct by", "baseline", "correct", *(f"fast_{p:g}" for p in P_VALUES), "mean speedup"),
        tuple(
            (
                _level(line.level),
                NAMES[line.judge],
                one_line(line.baseline) or "–",
                f"{line.correct:,} of {line.kernels:,}",
                *map(_share, line.shares),
                "–" if line.mean is None else f"{line.mean:.3g}",
            )
            for line in scores.lines
        ),
        3,
    )
    draws = sorted({k for line in scores.passes for k, _, _ in line.shares})
    found = [(line, {k: share for k, share, _ in line.shares}) for line in scores.passes]
    passes = Grid(
        ("level", "correct by", "problems", "samples", *(f"pass@{k}" for k in draws)),
        tuple(
            (
                _level(line.level),
                NAMES[line.judge],
                f"{line.problems:,}",
                f"{line.samples:,}",
                *(_share(shares.get(k)) for k in draws),
            )
            for line, shares in found
        ),
        2,
    )
    return fast, passes


def notes(scores: Scores, header: Mapping[str, Any]) -> tuple[str, ...]:
    """What a reader has to know to read the tables.

    Args:
        scores: The figures.
        header: ``run.json``.
    """
    timed = any(line.baseline for line in scores.lines)
    lines = [_DEFINITION, _VERDICTS, _PASS]
    lines.append("The mean speedup is the geometric mean over the correct kernels that were timed." if timed else _UNTIMED)
    for level in dict.fromkeys(sample.level for sample in scores.samples):
        lines += _of_level(level, [item for item in scores.samples if (item.level, item.sample_id) == (level, 0)], header, timed)
    if scores.placeless:
        lines.append(f"Left out of these tables: {count(scores.placeless, 'submission')} without a place in the suite.")
    flags = sorted({flag for item in scores.samples if item.result.timing is not None for flag in item.result.timing.flags})
    if flags:
        number = sum(item.result.timing is not None and bool(item.result.timing.flags) for item in scores.samples)
        lines.append(f"Flagged timings: {number:,} ({', '.join(map(one_line, flags))}), counted as measured by both verdicts.")
    if any("partial" in item.result.labels for item in scores.samples):
        lines.append("Only some gates were asked (--gates), so that honest says less here.")
    scored = [legacy_score(item.result, LEGACY) for item in scores.samples]
    if any(score is not None and score.size == "reduced" for score in scored):
        lines.append("The legacy check ran at reduced sizes (no GPU): it may judge otherwise at the problems' own sizes.")
    if any(item.result.timing is not None and item.result.timing.size == "reduced" for item in scores.samples):
        lines.append("Times were taken at reduced sizes: they say little about the problems' own sizes.")
    return tuple(lines)


def _of_level(level: int | None, samples: Sequence[Sample], header: Mapping[str, Any], timed: bool) -> Iterator[str]:
    name = "Without a level" if level is None else f"Level {level}"
    skipped = sum(item.result.status == "skipped" for item in samples)
    if skipped:
        yield f"{name}: skipped {skipped:,} of {count(len(samples), 'kernel')}, counted as not correct."
    untimed = sum(any(item.correct.values()) and not item.speedups for item in samples)
    if timed and untimed:
        yield f"{name}: {count(untimed, 'correct kernel')} without a time, counted for fast_0 only."
    size = header.get("options", {}).get("suite_sizes", {}).get(str(level))
    if size is not None and size != len(samples):
        yield (
            f"{name}: the suite has {count(size, 'problem')}, and {len(samples):,} of them a sample 0. KernelBench's own script "
            "divides by the problems of the level that its baseline file names."
        )


def _level(level: int | None) -> str:
    return "–" if level is None else str(level)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
