"""Figures of hand-made studies."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.calibration.comparison import comparisons
from kcbench.calibration.figures import ALL, measure
from kcbench.calibration.gate_set import cheapest, gate_uses
from kcbench.calibration.split import held_out
from kcbench.calibration.spread import spreads
from kcbench.report.proportion import Proportion
from tests.calibration.rows import broken, honest


def test_proportion() -> None:
    nine = Proportion.of([True] * 9 + [False])
    assert (nine.k, nine.n, nine.share) == (9, 10, 0.9)
    # Clopper and Pearson's table.
    assert nine.interval == pytest.approx((0.5550, 0.9975), abs=1e-4)
    assert str(nine).replace("\u00a0", " ") == "90 % (55.5-99.7)"
    assert str(Proportion(0, 0)) == "-" and Proportion(0, 0).interval == (0, 1)


def test_spread_of_honest_and_broken() -> None:
    fair = [
        honest("t/a", CMP01={"float32": 0.5, "float16": 0.25}, EXC01={"float32": 0.0}),
        honest("t/b", CMP01={"float32": 0.75}, EXC01={"float32": 0.0}),
        honest("t/c", proven=False, CMP01={"float32": 9.0}),
        honest("t/d", state="error", CMP01={"float32": 9.0}),
    ]
    faulty = [
        broken("a", "CMP-01.value", CMP01={"float32": 30.0, "float16": 0.5}),
        broken("b", "CMP-01.value", "PRC-01.tf32", CMP01={"float32": 20.0}, ORD03={"float32": 5.0}),
        broken("c", CMP01={"float32": 0.9}),
        broken("d", status="equivalent", CMP01={"float32": 3.0}),
    ]
    half, single = spreads(fair, faulty)
    assert (half.gate, half.dtype, half.honest, half.broken) == ("CMP-01", "float16", (0.25,), ())
    assert (half.worst, half.honest_p99, half.least, half.broken_p1) == (0.25, 0.25, None, None)
    assert (single.honest, single.broken) == ((0.5, 0.75), (20.0, 30.0))
    assert (single.worst, single.least) == (0.75, 20.0)
    assert (single.honest_p99, single.broken_p1) == pytest.approx((0.7475, 20.1))


names = st.sets(st.text(max_size=5))


@given(names)
def test_split_is_a_half_and_depends_on_names_alone(given: set[str]) -> None:
    away = held_out(sorted(given))
    assert away <= given and len(away) == len(given) // 2
    assert away == held_out([*sorted(given, reverse=True), *given])


def test_split_is_the_same_everywhere() -> None:
    # SHA-256 of a, b and c begins with ca, 3e and 2e: in this order c, b, a.
    assert held_out("abc") == {"b"}


def test_what_each_gate_adds() -> None:
    faulty = [
        broken("a", "CMP-01.value", "CMP-03.shape"),
        broken("b", "CMP-01.value"),
        broken("c", "CMP-03.shape", "CMP-03.batch", "CMP-01.value"),
        broken("d", "EXC-01.absorbed"),
        broken("e"),
    ]
    assert [(use.gate, use.refused, use.alone) for use in gate_uses(faulty)] == [
        ("CMP-01", 3, 1),
        ("CMP-03", 2, 0),
        ("EXC-01", 1, 1),
    ]


def test_cheapest_gates() -> None:
    faulty = [broken(f"a{i}", "CMP-01.value", "CMP-03.shape") for i in range(150)]
    faulty += [broken(f"b{i}", "EXC-01.absorbed", "CMP-03.shape") for i in range(40)]
    faulty += [broken(f"c{i}", "EXC-02.flushed") for i in range(9)]
    faulty += [broken("d", "ORD-02.nondeterministic"), broken("e")]
    chosen = cheapest(faulty)
    # 199 of the 200 that are found at all are enough: 198 would be, and CMP-03 with EXC-02 find 199.
    assert (chosen.gates, chosen.found, chosen.faults) == (("CMP-03", "EXC-02"), (190, 9), 200)
    assert chosen.kept(faulty) == Proportion(199, 200)
    assert cheapest(faulty, kept=1.0).gates == ("CMP-03", "EXC-02", "ORD-02")
    assert cheapest(faulty, kept=0.95).gates == ("CMP-03",)
    assert (cheapest([]).gates, gate_uses([])) == ((), ())


def test_other_checks() -> None:
    def asked(kernel: object, **answers: bool) -> object:
        return dataclasses.replace(kernel, checkers=answers)  # type: ignore[type-var]

    fair = [asked(honest("t/a"), v0=True, v1=False), asked(honest("t/b", state="refused"), v0=True), honest("t/c")]
    faulty = [
        asked(broken("a", "CMP-01.value"), v0=True, v1=False),
        asked(broken("b", "CMP-01.value"), v0=True),
        asked(broken("c"), v0=False, v1=True),
        asked(broken("d", status="equivalent"), v0=False),
    ]
    first, second = comparisons(fair, faulty)  # type: ignore[arg-type]
    assert (first.checker, first.alarms, first.kcbench_alarms) == ("v0", Proportion(0, 2), Proportion(1, 2))
    assert (first.detection, first.kcbench_detection) == (Proportion(1, 3), Proportion(2, 3))
    assert (first.only_kcbench, first.only_checker, first.p_value) == (2, 1, 1.0)
    assert (second.checker, second.detection, second.kcbench_detection) == ("v1", Proportion(1, 2), Proportion(1, 2))


def test_figures_of_a_study() -> None:
    away, here = "a", "b"
    assert held_out([away, here]) == {away}
    fair = [
        honest(f"{here}/x", CMP01={"float32": 0.5}),
        honest(f"{away}/y", state="refused", CMP01={"float32": 1.5}),
        honest(f"{away}/z", proven=False),
        honest(f"{here}/w", state="error"),
    ]
    faulty = [
        broken("a", "CMP-01.value", task=here),
        broken("b", "CMP-01.value", "CMP-03.shape", task=away, fault="shape"),
        broken("c", task=away),
        broken("d", "EXC-01.absorbed", task=away),
        broken("e", task=here, status="failed"),
        broken("f", task=here, status="unrunnable"),
    ]
    found = measure(fair, faulty)
    assert (found.honest, found.unproven, found.broken, found.failed) == (2, 1, 4, 2)
    assert found.alarms == Proportion(1, 2) and found.refused == (f"{away}/y",)
    precision, shape, whole = found.detections
    assert (precision.fault, precision.whole, precision.in_sample, precision.held_out) == (
        "precision",
        Proportion(2, 3),
        Proportion(1, 1),
        Proportion(1, 2),
    )
    assert shape.by_gate == {"CMP-01": 1, "CMP-03": 1}
    assert (whole.fault, whole.whole, whole.by_gate) == (ALL, Proportion(3, 4), {"CMP-01": 2, "CMP-03": 1, "EXC-01": 1})
    tasks, other_tasks, faults, other_faults = found.halves
    assert (tasks.members, tasks.detection, tasks.alarms, tasks.worst) == ((here,), Proportion(1, 1), Proportion(0, 1), 0.5)
    assert (other_tasks.name, other_tasks.detection, other_tasks.worst) == ("tasks, held out", Proportion(2, 3), 1.5)
    assert {*faults.members, *other_faults.members} == {"precision", "shape"}
    assert faults.detection.n + other_faults.detection.n == 4 and faults.worst is None
    # CMP-01 is all that the one half needs; of the two that are found on the other half, it finds one.
    assert found.cheapest_held_out == Proportion(1, 2)
