"""How often each checker refuses."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

from kcbench.report.proportion import Proportion  # noqa: E402
from kcbench.study.checkers import all_checkers  # noqa: E402
from kcbench.study.opinions import Opinions, refusals  # noqa: E402

V0, V1, FOUR, CLASSIC = (checker.id for checker in all_checkers())


def test_refusals() -> None:
    said = [
        (True, Opinions((V0, V1), (FOUR, CLASSIC))),
        (True, Opinions((V0,), (V1, FOUR, CLASSIC))),
        # What failed says neither.
        (False, Opinions((V0, V1), (CLASSIC,), {FOUR: "KeyError: 'x'"})),
    ]
    found = refusals(said)
    assert list(found) == ["kcbench", V0, V1, FOUR, CLASSIC]
    assert found == {
        "kcbench": Proportion(2, 3),
        V0: Proportion(0, 3),
        V1: Proportion(1, 3),
        FOUR: Proportion(2, 2),
        CLASSIC: Proportion(3, 3),
    }


def test_json() -> None:
    opinions = Opinions((V0,), (V1, FOUR), {CLASSIC: "KeyError: 'x'"})
    data = json.loads(json.dumps(opinions.to_json()))
    assert (data["accepted_by"], data["refused_by"]) == ([V0], [V1, FOUR])
    assert Opinions.from_json(data) == opinions
    assert Opinions.from_json({"codes": []}) is None


def test_a_rate() -> None:
    assert Proportion(0, 0).share is None and Proportion(0, 0).interval == (0.0, 1.0)
    assert Proportion(9, 10).share == 0.9
    # The exact interval of 9 of 10, as tables give it.
    assert Proportion(9, 10).interval == pytest.approx((0.5550, 0.9975), abs=5e-5)
