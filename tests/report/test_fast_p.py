"""fast_p and pass@k against figures worked out by hand, and against what must hold for any run."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.domain.result import Result
from kcbench.report.fast_p import CONTRACT, LEGACY, P_VALUES, Line, Scores, fast_p, geometric_mean, measure, pass_at_k, speedup
from kcbench.report.fast_p_words import grids, notes
from tests.report.suite_runs import HEADER, kernel, timing

# --- The three figures


def test_fast_p_by_hand() -> None:
    correct = [True, True, True, False, True]
    speedups = [2.0, 1.0, 0.8, 9.0, None]
    by_hand = {0.0: 4 / 5, 0.5: 3 / 5, 0.8: 2 / 5, 1.0: 1 / 5, 1.5: 1 / 5, 2.0: 0.0}
    assert {p: fast_p(correct, speedups, p) for p in P_VALUES} == by_hand, "the bound is strict, and only p = 0 needs no time"
    assert fast_p([], [], 0.0) == 0.0
    with pytest.raises(ValueError, match="zip"):
        fast_p([True], [], 1.0)


def test_geometric_mean_by_hand() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([0.5, 1.0, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([]) is None
    # A plain product would overflow, and underflow.
    assert geometric_mean([1e200] * 4) == pytest.approx(1e200)
    assert geometric_mean([1e-200] * 4) == pytest.approx(1e-200)


def test_pass_at_k_by_hand() -> None:
    assert pass_at_k(4, 1, 1) == pytest.approx(1 / 4)
    assert pass_at_k(4, 1, 2) == pytest.approx(1 / 2)
    assert pass_at_k(5, 2, 2) == pytest.approx(1 - 3 / 10)
    assert pass_at_k(4, 0, 4) == 0.0
    assert pass_at_k(4, 1, 4) == 1.0
    assert pass_at_k(1000, 500, 100) == pytest.approx(1.0)
    for wrong in ((4, 5, 1), (4, -1, 1), (4, 1, 5), (4, 1, 0)):
        with pytest.raises(ValueError, match="no pass@"):
            pass_at_k(*wrong)


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_correct_sample(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(itertools.combinations([index < c for index in range(n)], k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


ratios = st.none() | st.floats(1e-3, 1e3)
kernels = st.lists(st.tuples(st.booleans(), ratios), max_size=12)


@given(kernels, st.floats(0, 1e3), st.floats(0, 1e3))
def test_fast_p_falls_with_p(made: list[tuple[bool, float | None]], p: float, q: float) -> None:
    correct, speedups = [ok for ok, _ in made], [ratio for _, ratio in made]
    low, high = sorted((p, q))
    assert 0.0 <= fast_p(correct, speedups, high) <= fast_p(correct, speedups, low) <= fast_p(correct, speedups, 0.0)
    assert fast_p(correct, speedups, 0.0) == (sum(correct) / len(made) if made else 0.0)


def test_speedup_is_mean_over_mean() -> None:
    time = timing(2.0, eager=3.0)
    assert speedup(time, "eager") == 1.5 != time.speedup("eager")
    assert speedup(time, "compile") is None
    assert speedup(timing(0.0, eager=3.0), "eager") is None
    assert speedup(timing(1.0, eager=0.0), "eager") is None


# --- A run

RUN = (
    kernel(1, time=timing(1.0, eager=4.0)),
    kernel(2, clean=False, time=timing(1.0, eager=1.0)),
    kernel(3, legacy=False, time=timing(2.0, eager=1.2)),
    kernel(4, legacy=False, clean=False, time=timing(1.0, eager=99.0)),
    kernel(5, legacy=None, status="unloadable", reason="the import failed: ImportError: x"),
    kernel(6),
    kernel(7, legacy=None, status="skipped", reason="the problem cannot be used"),
    kernel(8, legacy=None, status="error", reason="the harness broke"),
    kernel(1, 1, legacy=False, clean=False),
    kernel(2, 1),
    kernel(2, None),
)
"""By sample 0: legacy accepts 1, 2 and 6; clean are 1, 3 and 6. Speedups: 4, 1, 0.6, and none for 6."""


def measured(results: tuple[Result, ...] | list[Result], **header: Any) -> Scores:
    found = measure(results, {**HEADER, **header})
    assert found is not None
    return found


def lines(scores: Scores) -> dict[str, Line]:
    return {line.judge: line for line in scores.lines}


def test_a_run_by_hand() -> None:
    scores = measured(RUN)
    legacy, honest = lines(scores)[LEGACY], lines(scores)[CONTRACT]
    assert (legacy.level, legacy.baseline, legacy.kernels, legacy.correct, legacy.timed) == (1, "eager", 8, 3, 2)
    assert legacy.shares == (3 / 8, 2 / 8, 2 / 8, 1 / 8, 1 / 8, 1 / 8)
    assert legacy.mean == pytest.approx(2.0)
    assert (honest.kernels, honest.correct, honest.timed) == (8, 3, 2)
    assert honest.shares == (3 / 8, 2 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 8)
    assert honest.mean == pytest.approx(math.sqrt(4.0 * 0.6))
    assert scores.placeless == 1


def test_pass_at_k_of_a_run_by_hand() -> None:
    legacy, honest = measured(RUN).passes
    # Eight problems; 1 has one correct of two samples, 2 has two of two by the legacy check and one by the contract.
    assert (legacy.problems, legacy.samples) == (8, 10)
    assert legacy.shares == ((1, pytest.approx((0.5 + 1 + 1) / 8), 8), (2, 1.0, 2))
    assert honest.shares == ((1, pytest.approx((0.5 + 0.5 + 1 + 1) / 8), 8), (2, 1.0, 2))


def test_only_sample_0_is_in_fast_p() -> None:
    assert lines(measured([kernel(1, 1), kernel(1, 2)]))[LEGACY].kernels == 0


def test_levels_and_baselines_have_lines_of_their_own() -> None:
    scores = measured(
        [
            kernel(1, time=timing(1.0, eager=2.0, compile=1.2)),
            kernel(1, level=2, time=timing(1.0, eager=0.9)),
            kernel(4, level=None),
        ],
        options={"timing": ["eager", "eager-tf32", "compile"]},
    )
    assert [(line.level, line.baseline, line.judge) for line in scores.lines] == [
        (level, baseline, judge) for level in (None, 1, 2) for baseline in ("eager", "compile") for judge in (LEGACY, CONTRACT)
    ]
    assert [line.shares[3] for line in scores.lines if line.judge == LEGACY] == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]


def test_without_times_only_fast_0_is_known() -> None:
    scores = measured([kernel(1), kernel(2, legacy=False)])
    assert lines(scores)[LEGACY].shares == (0.5, None, None, None, None, None)
    assert lines(scores)[CONTRACT].mean is None


def test_without_the_legacy_check_only_the_contract_is_asked() -> None:
    scores = measured([kernel(1, legacy=None)], legacy=[])
    assert [line.judge for line in scores.lines] == [CONTRACT]


def test_a_run_over_no_suite_has_no_scores() -> None:
    assert measure([], HEADER) is None
    plain = kernel(1)
    assert measure([Result(plain.key, {**plain.submission, "origin": {}}, "scored")], HEADER) is None
    before = {name: value for name, value in plain.submission.items() if name != "origin"}
    assert measure([Result(plain.key, before, "scored")], HEADER) is None


def test_a_place_counts_once() -> None:
    again = kernel(1, legacy=False)
    moved = Result("key-moved", {**again.submission, "id": "moved"}, "scored", legacy=again.legacy)
    scores = measured([kernel(1), moved])
    assert (len(scores.samples), scores.placeless) == (1, 1)


runs = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.none() | st.tuples(st.floats(0.1, 10), st.floats(0.1, 10))),
    min_size=1,
    max_size=10,
)


@given(runs)
def test_honest_and_legacy_differ_by_the_two_disagreements(made: list[tuple[bool, bool, tuple[float, float] | None]]) -> None:
    """Clean is no part of accepted: a kernel can be right, and miss the legacy tolerance. So neither share bounds the other."""
    results = [
        kernel(number, legacy=legacy, clean=clean, time=None if time is None else timing(time[0], eager=time[1]))
        for number, (legacy, clean, time) in enumerate(made)
    ]
    found = lines(measured(results))
    # With what the legacy check rejects left out of the clean ones, the contract only takes away.
    strict = lines(
        measured(
            [
                kernel(number, legacy=legacy, clean=legacy and clean, time=result.timing)
                for number, ((legacy, clean, _), result) in enumerate(zip(made, results, strict=True))
            ]
        )
    )
    for index, p in enumerate(P_VALUES):
        legacy_share, honest_share = found[LEGACY].shares[index], found[CONTRACT].shares[index]
        if legacy_share is None or honest_share is None:
            assert p > 0 and all(time is None for _, _, time in made)
            continue
        quick = [p == 0 or (time is not None and time[1] / time[0] > p) for _, _, time in made]
        gained = sum(clean and not legacy and fast for (legacy, clean, _), fast in zip(made, quick, strict=True))
        lost = sum(legacy and not clean and fast for (legacy, clean, _), fast in zip(made, quick, strict=True))
        assert honest_share - legacy_share == pytest.approx((gained - lost) / len(made))
        assert (strict[CONTRACT].shares[index] or 0.0) <= legacy_share


# --- In words


def test_tables_and_notes() -> None:
    header = {**HEADER, "options": {"timing": ["eager"], "suite_sizes": {"1": 100}}}
    scores = measured(RUN)
    fast, passes = grids(scores)
    assert fast.head == (
        "level",
        "correct by",
        "baseline",
        "correct",
        "fast_0",
        "fast_0.5",
        "fast_0.8",
        "fast_1",
        "fast_1.5",
        "fast_2",
        "mean speedup",
    )
    assert fast.rows[0] == ("1", "legacy", "eager", "3 of 8", "0.375", "0.250", "0.250", "0.125", "0.125", "0.125", "2")
    assert fast.rows[1] == ("1", "honest", "eager", "3 of 8", "0.375", "0.250", "0.125", "0.125", "0.125", "0.125", "1.55")
    assert passes.head == ("level", "correct by", "problems", "samples", "pass@1", "pass@2")
    assert passes.rows == (("1", "legacy", "8", "10", "0.312", "1.000"), ("1", "honest", "8", "10", "0.375", "1.000"))
    said = notes(scores, header)
    assert said[0].endswith(
        "Its denominator is every submission with sample id 0 of the level; what could not be loaded, run or timed is in it."
    )
    assert (
        said[1]
        == "Legacy: correct is what kernelbench-v1 accepts. Honest: correct is what was scored and no gate of the contract refuses."
    )
    assert said[4:] == (
        "Level 1: skipped 1 of 8 kernels, counted as not correct.",
        "Level 1: 1 correct kernel without a time, counted for fast_0 only.",
        "Level 1: the suite has 100 problems, and 8 of them a sample 0. KernelBench's own script divides by the problems of the level that its baseline file names.",
        "Left out of these tables: 1 submission without a place in the suite.",
    )


def test_notes_on_what_weakens_the_figures() -> None:
    flagged = kernel(1, time=timing(1.0, "faster-than-roofline", "excessive-speedup", eager=20.0), labels=("cuda", "partial"))
    said = notes(measured([flagged]), HEADER)
    assert "Flagged timings: 1 (excessive-speedup, faster-than-roofline), counted as measured by both verdicts." in said
    assert "Only some gates were asked (--gates), so that honest says less here." in said
    assert "Nothing was timed: only fast_0, the share of correct kernels, is known. --timing eager times them." in notes(
        measured([kernel(1)]), HEADER
    )
