"""The interval of a constant, from hand-made studies."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.calibration import fit as fit_module
from kcbench.calibration.fit import BOUNDS, Fit, fit, try_out
from kcbench.gates import all_gates
from kcbench.report.proportion import Proportion
from tests.calibration.rows import broken, honest

KAPPA = {"kappa": 8.0}


def test_interval() -> None:
    fair = [
        honest("t/a", CMP01={"float32": 0.25}, EXC02={"float32": 0.9}),
        honest("t/b", ORD01={"float16": 0.4}),
        honest("t/c", proven=False, CMP01={"float32": 3.0}),
    ]
    faulty = [
        *(broken(f"a{i}", "CMP-01.value", "EXC-01.absorbed", CMP01={"float32": 5.0}) for i in range(fit_module.FEWEST)),
        *(broken(f"b{i}", "PRC-01.value", PRC01={"float16": 2.0}) for i in range(fit_module.FEWEST)),
        # Too few of them to say anything of a percentage, or refused for something that has no bound.
        *(broken(f"c{i}", "CMP-01.value", CMP01={"float16": 1.5}) for i in range(fit_module.FEWEST - 1)),
        *(broken(f"d{i}", "CMP-03.empty", CMP03={"float32": 1.1}) for i in range(fit_module.FEWEST)),
        broken("e", "CMP-01.value", CMP01={"float32": 0.9}),  # Refused for a NaN, whatever the bound.
        broken("f", CMP01={"float32": 0.9}),
    ]
    [found] = fit(KAPPA, fair, faulty)
    assert (found.honest, found.worst, found.broken, found.least) == (2, 0.4, 3 * fit_module.FEWEST, 2.0)
    assert (found.low, found.high) == (1.25 * 0.4 * 8, 2.0 * 8)
    # A power of the square root of two that is the end itself counts.
    assert found.loosest == 16.0
    assert not found.empty and str(found) == "the present value lies inside"


@pytest.mark.parametrize(
    ("worst", "least", "loosest", "said"),
    [
        (1.0, 1.2, None, "empty: no value meets both conditions"),
        (0.8, 1.0, 8.0, "the present value lies inside"),
        (0.8, 1.45, 8 * math.sqrt(2), "the present value lies inside"),
        (0.9, 1.35, None, "too narrow: no power of the square root of two lies inside"),
        (0.2, 0.75, 4 * math.sqrt(2), "the present value lies above"),
        (1.1, 20.0, 128.0, "the present value lies below"),
        (0.0, 2.0, 16.0, "the present value lies inside"),
        (None, 4.0, None, "not measured: no honest kernel"),
        (0.4, None, None, "not measured: too few faults"),
    ],
)
def test_loosest_value(worst: float | None, least: float | None, loosest: float | None, said: str) -> None:
    found = Fit("kappa", 8.0, 1, worst, 1, least)
    assert found.loosest == (None if loosest is None else pytest.approx(loosest))
    assert str(found) == said


@given(st.floats(0, 3), st.floats(1.001, 1e6), st.floats(1e-7, 1e3))
def test_the_loosest_value_keeps_both_margins(worst: float, least: float, value: float) -> None:
    found = Fit("any", value, 1, worst, 1, least)
    if found.loosest is not None:
        assert 1.25 * worst * value <= found.loosest <= least * value * (1 + 1e-8)
        steps = 2 * math.log2(found.loosest)
        assert steps == pytest.approx(round(steps))
        assert found.loosest * math.sqrt(2) > least * value
    assert found.empty is (1.25 * worst * value > least * value)


def test_each_constant_has_its_own_gates() -> None:
    values = {"kappa": 8.0, "eager_factor": 2.0, "coherent": 2.0, "any_order": 2.0, "transform_slack": 2.0**-19}
    fair = [honest("t/a", CMP01={"float32": 0.2}, ORD01={"float32": 0.5}, ORD03={"float32": 0.3}, PRC02={"float32": 0.25})]
    faulty = [
        *(broken(f"a{i}", "PRC-02.accumulator", PRC02={"float16": 32.0}) for i in range(fit_module.FEWEST)),
        *(broken(f"b{i}", "ORD-03.cancellation", ORD03={"float32": 8.0}) for i in range(fit_module.FEWEST)),
    ]
    found = {item.constant: item for item in fit(values, fair, faulty)}
    assert {name: item.worst for name, item in found.items()} == {
        "kappa": 0.5,
        "eager_factor": 0.3,
        "coherent": 0.2,
        "any_order": 0.3,
        "transform_slack": 0.25,
    }
    assert {name: item.least for name, item in found.items()} == {
        "kappa": 8.0,
        "eager_factor": 8.0,
        "coherent": None,
        "any_order": 8.0,
        "transform_slack": 32.0,
    }
    assert found["transform_slack"].loosest == 2.0**-14


def test_fitted_on_one_half_and_tried_on_the_other() -> None:
    fair = [honest("here/a", CMP01={"float32": 0.1}), honest("there/b", CMP01={"float32": 1.5}), honest("there/c")]
    faulty = [
        *(broken(f"a{i}", "CMP-01.value", task="here", CMP01={"float32": 1.45}) for i in range(fit_module.FEWEST)),
        broken("b", "CMP-01.value", task="there", CMP01={"float32": 1.2}),
        broken("c", "CMP-01.value", task="there", CMP01={"float32": 9.0}),
    ]
    [trial] = try_out(KAPPA, fair, faulty, {"there"})
    assert trial.value == pytest.approx(8 * math.sqrt(2))
    # An error of 1.5 x 8 is beyond 11.3, and the fault at 1.2 x 8 is not; the kernel without a ratio says nothing.
    assert (trial.alarms, trial.missed) == (Proportion(1, 1), Proportion(1, 2))
    assert try_out(KAPPA, fair, [], {"there"}) == ()


def test_the_codes_exist() -> None:
    known = {f"{gate.id}.{code}" for gate in all_gates() for code in gate.codes}
    assert set().union(*BOUNDS.values()) <= known
