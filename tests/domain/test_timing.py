"""Statistics of times, and what they say beside a baseline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.domain.timing import Stats, Timing


def test_statistics_of_a_few_times() -> None:
    stats = Stats.of([4.0, 1.0, 3.0, 2.0])
    assert stats == Stats(median_ms=2.5, mean_ms=2.5, std_ms=1.25**0.5, min_ms=1.0, max_ms=4.0, trials=4)


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=20))
def test_statistics_are_in_order(times: list[float]) -> None:
    stats = Stats.of(times)
    assert stats.min_ms <= stats.median_ms <= stats.max_ms and stats.trials == len(times)
    assert stats.min_ms - 1e-6 <= stats.mean_ms <= stats.max_ms + 1e-6 and 0 <= stats.std_ms <= stats.max_ms - stats.min_ms + 1e-6


def test_a_speedup_needs_a_baseline_and_a_time() -> None:
    own, eager = Stats.of([2.0]), Stats.of([8.0])
    timing = Timing(**vars(own), baselines={"eager": eager})
    assert timing.speedup() == 4.0 and timing.speedup("compile") is None
    assert Timing(**vars(Stats.of([0.0])), baselines={"eager": eager}).speedup() is None


def test_the_form_in_json_is_complete() -> None:
    timing = Timing(**vars(Stats.of([2.0])), baselines={"eager": Stats.of([8.0])}, flags=("clock-mismatch",), detail={"a": 1})
    assert Timing.from_json(timing.to_json()) == timing
    with pytest.raises(TypeError):
        Timing.from_json({**timing.to_json(), "more": 1})
