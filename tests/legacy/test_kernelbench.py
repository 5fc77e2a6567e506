"""KernelBench's own check: the same answer as ``torch.allclose`` gives, for both tolerances, in one pass."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kcbench.domain.observation import Observation, Raised
from kcbench.legacy import kernelbench
from kcbench.legacy.kernelbench import TOLERANCES, Trial, Trials, judge
from kcbench.oracle.eager import record
from kcbench.runtime import Call, ModelSpec
from kcbench.tasks import load_task

TASK = load_task("level1/relu")
CHECKS = tuple(TOLERANCES)
CALL = Call(ModelSpec((), "float32"), (), ())
SPECIAL = st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-38, 3e38, 1.0, 1.00005, 1.01, 1.02])
VALUES = st.one_of(SPECIAL, st.floats(-1e4, 1e4, width=32))


def answer(*outputs: Tensor) -> Observation:
    return Observation("ok", outputs=tuple(record(item) for item in outputs))


def scores(pairs: list[tuple[Observation, Observation]]) -> list[tuple[bool, str]]:
    made = Trials(tuple(Trial(CALL, expected) for expected, _ in pairs), "reduced")
    return [(score.correct, score.reason) for score in judge(CHECKS, TASK, made, [seen for _, seen in pairs])]


@given(pairs=st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30), chunk=st.integers(1, 8))
def test_it_is_allclose_whatever_the_pieces(pairs: list[tuple[float, float]], chunk: int) -> None:
    want, mine = (torch.tensor(column, dtype=torch.float32) for column in zip(*pairs, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernelbench, "CHUNK", chunk)
        found = scores([(answer(want), answer(mine))])
    for (correct, reason), check in zip(found, CHECKS, strict=True):
        tolerance = TOLERANCES[check]["float32"]
        assert correct == torch.allclose(want, mine, atol=tolerance, rtol=tolerance)
        assert reason == ("" if correct else "output mismatch")


def test_the_two_checks_differ_between_their_tolerances() -> None:
    x = torch.ones(3, 5)
    assert scores([(answer(x), answer(x + 1e-3))]) == [(True, ""), (False, "output mismatch")]


def test_the_largest_difference_is_told_and_a_nan_is_infinite() -> None:
    x = torch.arange(6.0)
    made = Trials((Trial(CALL, answer(x)), Trial(CALL, answer(x))), "reduced")
    off, nan = x.clone(), x.clone()
    off[2] += 0.5
    nan[0] = math.nan
    score = judge(["kernelbench-v0"], TASK, made, [answer(off), answer(nan)])[0]
    assert score.max_difference[0] == 0.5 and score.max_difference[1] > 1e300
    assert (score.trials, score.correct) == ("(0 / 2)", False)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (answer(torch.ones(2, 3)), "output shape mismatch: expected [3, 2], got [2, 3]"),
        (answer(torch.ones(3, 2), torch.ones(1)), "output count mismatch: expected 1, got 2"),
        (answer(torch.ones(3, 2).double()), "runtime error: allclose of float32 and float64"),
        (Observation("raised", raised=Raised("ValueError", "no\nmore")), "runtime error: ValueError: no"),
        (Observation("timeout", detail="no answer within 30 s"), "no answer within 30 s"),
    ],
)
def test_what_cannot_be_compared_is_rejected_with_the_reason(seen: Observation, reason: str) -> None:
    assert scores([(answer(torch.ones(3, 2)), seen)]) == [(False, reason)] * 2


def test_a_failing_eager_model_is_named() -> None:
    failed = Observation("raised", raised=Raised("RuntimeError", "no"), detail="no")
    assert scores([(failed, answer(torch.ones(1)))]) == [(False, "the eager model failed: no")] * 2


def test_trials_that_were_not_made_are_no_passes() -> None:
    right = answer(torch.ones(4))
    made = Trials((Trial(CALL, right), Trial(CALL, right)), "reduced")
    score = judge(["kernelbench-v1"], TASK, made, [right])[0]
    assert (score.correct, score.trials, score.reason) == (False, "(1 / 2)", "the run stopped before all trials were made")


@pytest.mark.parametrize("values", [torch.tensor([1, 2, 3]), torch.tensor([True, False]), torch.tensor(2.5), torch.ones(0, 3)])
def test_integers_truth_values_scalars_and_empty_outputs(values: Tensor) -> None:
    assert scores([(answer(values), answer(values.clone()))]) == [(True, "")] * 2
    if values.numel() and not values.is_floating_point():
        other = dataclasses.replace(answer(values), outputs=(record(~values if values.dtype == torch.bool else values + 1),))
        assert not any(correct for correct, _ in scores([(answer(values), other)]))
