from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.numerics.statistics import clopper_pearson, mcnemar, percentile, wilson

counts = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
confidences = st.sampled_from([0.5, 0.9, 0.95, 0.99])


def tail(k: int, n: int, p: Fraction) -> Fraction:
    """P(X >= k) for X binomial, exactly."""
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), Fraction(0))


def test_wilson_known_values() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81/263, 15/148, 0/20, 1/29.
    for (k, n), expected in {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0000, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }.items():
        assert wilson(k, n) == pytest.approx(expected, abs=5e-5)


def test_wilson_by_hand() -> None:
    # k = n/2: centre 1/2, half width z/2 / sqrt(n + z^2).
    z = 1.959963984540054
    assert wilson(5, 10) == pytest.approx((0.5 - z / 2 / math.sqrt(10 + z * z), 0.5 + z / 2 / math.sqrt(10 + z * z)))


def test_clopper_pearson_known_values() -> None:
    # The same table, method 5.
    for (k, n), expected in {
        (81, 263): (0.2527, 0.3676),
        (15, 148): (0.0578, 0.1617),
        (0, 20): (0.0000, 0.1684),
        (1, 29): (0.0009, 0.1776),
    }.items():
        assert clopper_pearson(k, n) == pytest.approx(expected, abs=5e-5)
    # One-sided 95 % bounds in closed form.
    assert clopper_pearson(19, 19, 0.9)[0] == pytest.approx(0.05 ** (1 / 19), rel=1e-12)
    assert clopper_pearson(0, 16, 0.9)[1] == pytest.approx(1 - 0.05 ** (1 / 16), rel=1e-12)
    assert clopper_pearson(0, 299, 0.9)[1] < 0.01 < clopper_pearson(0, 298, 0.9)[1]


@settings(max_examples=40, deadline=None)
@given(counts, confidences)
def test_clopper_pearson_ends_solve_their_equations(count: tuple[int, int], confidence: float) -> None:
    k, n = count
    low, high = clopper_pearson(k, n, confidence)
    alpha = (1 - confidence) / 2
    if k:
        assert float(tail(k, n, Fraction(low))) == pytest.approx(alpha, rel=1e-9)
    else:
        assert low == 0
    if k < n:
        assert float(1 - tail(k + 1, n, Fraction(high))) == pytest.approx(alpha, rel=1e-9)
    else:
        assert high == 1


@settings(max_examples=60, deadline=None)
@given(counts, confidences)
def test_intervals_are_intervals(count: tuple[int, int], confidence: float) -> None:
    k, n = count
    for interval in (wilson, clopper_pearson):
        low, high = interval(k, n, confidence)
        assert 0 <= low < high <= 1
        assert n == 0 or low <= k / n <= high
        mirror = interval(n - k, n, confidence)
        assert (1 - mirror[1], 1 - mirror[0]) == pytest.approx((low, high), abs=1e-12)
        wider = interval(k, n, 0.999)
        assert wider[0] <= low and high <= wider[1]


def test_large_counts() -> None:
    low, high = clopper_pearson(50_000, 100_000)
    half = 1.959963984540054 * math.sqrt(0.25 / 100_000)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)
    assert clopper_pearson(999_999, 1_000_000)[0] == pytest.approx(1 - 5.5716e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("k", "n", "confidence"), [(-1, 5, 0.95), (6, 5, 0.95), (1, -1, 0.95), (1, 5, 0.0), (1, 5, 1.0), (1, 5, 95.0)]
)
def test_bad_counts(k: int, n: int, confidence: float) -> None:
    for interval in (wilson, clopper_pearson):
        with pytest.raises(ValueError):
            interval(k, n, confidence)


def test_mcnemar_known_values() -> None:
    assert mcnemar(0, 6) == 2 / 2**6
    assert mcnemar(1, 9) == 2 * (1 + 10) / 2**10
    assert mcnemar(2, 8) == 2 * (1 + 10 + 45) / 2**10
    assert mcnemar(5, 5) == 1
    assert mcnemar(0, 0) == 1
    assert mcnemar(14, 200) == mcnemar(200, 14) < 1e-40
    assert mcnemar(1487, 14) == 0  # 1e-420, below the smallest float
    assert mcnemar(60_000, 300_000) == 0


@pytest.mark.parametrize("more", [2_001, 2_050, 2_300, 2_900])
def test_mcnemar_of_many_agrees_with_whole_numbers(more: int) -> None:
    exact = Fraction(2 * sum(math.comb(2_001 + more, i) for i in range(2_002)), 2 ** (2_001 + more))
    assert mcnemar(2_001, more) == pytest.approx(min(1.0, float(exact)), rel=1e-8)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError):
        mcnemar(-1, 2)


@given(st.integers(0, 50), st.integers(0, 50))
def test_mcnemar_is_the_binomial_tail(b: int, c: int) -> None:
    n, k = b + c, min(b, c)
    assert mcnemar(b, c) == float(min(Fraction(1), 2 * Fraction(sum(math.comb(n, i) for i in range(k + 1)), 2**n)))


def test_percentile() -> None:
    values = [4.0, 1.0, 3.0, 2.0]
    assert [percentile(values, p) for p in (0, 25, 50, 90, 100)] == pytest.approx([1, 1.75, 2.5, 3.7, 4])
    assert percentile([7.0], 99) == 7
    for bad in (([], 50), ([1.0], 101), ([1.0], -1)):
        with pytest.raises(ValueError):
            percentile(*bad)
