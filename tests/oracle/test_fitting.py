"""Benchmark sizes that fit: the largest below a task's own whose tensors stay within a limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.oracle.fitting import fitting_sizes
from tests.oracle.tasks import made

TASK = made("return x + 1")
"""300 rows of 500 in and out: 1.2 MB."""


def test_what_fits_keeps_its_own_sizes() -> None:
    assert fitting_sizes(TASK, limit=2_000_000) is None


@settings(max_examples=30)
@given(st.integers(1_000, 1_199_999))
def test_what_does_not_is_halved_until_it_fits(limit: int) -> None:
    sizes = fitting_sizes(TASK, limit=limit)
    assert sizes is not None
    size = 8 * sizes["rows"] * sizes["width"]
    # Never below the gate sizes, where nothing is left to be halved; and the step before the last did not fit.
    assert sizes["rows"] >= 3 and sizes["width"] >= 5
    assert size <= limit or (sizes["rows"] < 6 and sizes["width"] < 10)
    assert 2 * 8 * (sizes["rows"] + 1) * (sizes["width"] + 1) > limit


def test_the_largest_axis_goes_first() -> None:
    assert fitting_sizes(TASK, limit=700_000) == {"rows": 300, "width": 250}
    assert fitting_sizes(TASK, limit=400_000) == {"rows": 150, "width": 250}


def test_an_axis_that_may_not_vary_stays() -> None:
    task = made("return x + 1", axes={"rows": {"gate": 3, "legacy": 6}, "width": {"gate": 5, "legacy": 7, "varies": False}})
    assert fitting_sizes(task, limit=300_000) == {"rows": 75, "width": 500}


def test_multiples_stay_multiples() -> None:
    task = made(
        "return x + 1", axes={"rows": {"gate": 3, "legacy": 6}, "width": {"gate": 100, "legacy": 100, "multiple_of": 100}}
    )
    assert fitting_sizes(task, limit=700_000) == {"rows": 300, "width": 200}


def test_outputs_count_as_well() -> None:
    wide = made("return x.repeat(1, 9)")
    assert fitting_sizes(wide, limit=2_000_000) is not None
