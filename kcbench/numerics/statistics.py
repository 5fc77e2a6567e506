"""Statistics of counts: intervals for a proportion, a paired test, percentiles. No torch, no scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

Interval = tuple[float, float]
"""Lower and upper end."""
_EXACT = 2_000
"""The most disagreements of the rarer kind that :func:`mcnemar` adds up in whole numbers: beyond, that takes seconds."""


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion, ``(0, 1)`` where there are no trials.

    E. B. Wilson, JASA 22 (1927): the p with ``|k / n - p| <= z sqrt(p (1 - p) / n)``. The coverage is close to ``confidence`` on
    average; use :func:`clopper_pearson` where it must never be less.

    Raises:
        ValueError: counts that do not fit, or a confidence outside (0, 1).
    """
    _check(successes, trials, confidence)
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    # At the ends the formula gives 0 and 1 but for rounding.
    return (
        0.0 if successes == 0 else max(0.0, centre - half),
        1.0 if successes == trials else min(1.0, centre + half),
    )


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """The exact interval for a proportion: covers with at least ``confidence``; ``(0, 1)`` where there are no trials.

    C. J. Clopper and E. S. Pearson, Biometrika 26 (1934): the ends are the alpha/2 quantile of Beta(k, n - k + 1) and the
    1 - alpha/2 quantile of Beta(k + 1, n - k). A one-sided 95 % bound is the end of the interval at ``confidence = 0.9``.

    Raises:
        ValueError: counts that do not fit, or a confidence outside (0, 1).
    """
    _check(successes, trials, confidence)
    tail = (1 - confidence) / 2
    failures = trials - successes
    lower = 0.0 if successes == 0 else _beta_quantile(successes, failures + 1, tail)
    # By symmetry, so that the small tail is never taken from 1.
    upper = 1.0 if failures == 0 else 1 - _beta_quantile(failures, successes + 1, tail)
    return lower, upper


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p-value of the exact McNemar test for two verdicts on the same items.

    Q. McNemar, Psychometrika 12 (1947), in its exact binomial form: twice the probability that a fair coin, thrown once for each
    item on which the two disagree, falls on the rarer side no more often than seen; at most 1. To nine digits where that side has
    more than 2,000 items, and exact below.

    Args:
        only_first: Items that the first refuses and the second accepts.
        only_second: Items that the second refuses and the first accepts.

    Raises:
        ValueError: a negative count.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"counts are not negative: {only_first}, {only_second}")
    discordant = only_first + only_second
    if min(only_first, only_second) > _EXACT:
        return min(1.0, 2 * _fair_tail(min(only_first, only_second), discordant))
    term = total = 1
    for i in range(min(only_first, only_second)):
        term = term * (discordant - i) // (i + 1)
        total += term
    # The ratio of two integers is rounded once, however large they are.
    return min(1.0, 2 * total / (1 << discordant))


def percentile(values: Sequence[float], percent: float) -> float:
    """The percentile by linear interpolation between order statistics; 50 is the median.

    Raises:
        ValueError: no values, or a percent outside [0, 100].
    """
    if not values or not 0 <= percent <= 100:
        raise ValueError(f"no percentile {percent} of {len(values)} values")
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def _check(successes: int, trials: int, confidence: float) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")


def _fair_tail(successes: int, trials: int) -> float:
    """The probability of at most that many heads in throws of a fair coin, to about nine digits: the last term times a series."""
    last = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1) - trials * math.log(2)
    term = series = 1.0
    for i in range(successes):
        term *= (successes - i) / (trials - successes + 1 + i)
        series += term
        if term < 1e-17 * series:
            break
    return math.exp(last) * series


def _beta_quantile(a: int, b: int, probability: float) -> float:
    """The x with I_x(a, b) = probability, by bisection down to a width of 2^-60."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b) for 0 < x < 1.

    Its continued fraction (NIST DLMF 8.17.22), evaluated by Lentz's method; it converges fast for x below (a + 1) / (a + b + 2),
    and I_x(a, b) = 1 - I_{1-x}(b, a) brings x there.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1.0 / _nonzero(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 100_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _nonzero(1 + step * d, tiny)
            c = _nonzero(1 + step / c, tiny)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction


def _nonzero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
