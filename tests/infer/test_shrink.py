"""Smaller sizes stand for the problem: same operations, no dimension lost, sums as long as they have to be."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.infer.problem import Problem
from kcbench.infer.shrink import (
    GATE_COST,
    GATE_ELEMENTS,
    LADDER,
    LEGACY_COST,
    LEGACY_ELEMENTS,
    CannotShrinkError,
    Shrunk,
    distinct,
    halved,
    shrink,
)
from kcbench.infer.trace import trace
from tests.infer import problems
from tests.infer.problems import forward, layers, problem


def parse(code: str) -> Problem:
    return Problem.parse(code, name="problem")


@functools.cache
def shrunk(code: str) -> Shrunk:
    return shrink(parse(code))


@pytest.mark.parametrize("name", problems.ALL)
def test_it_stands_for_the_problem(name: str) -> None:
    made, found = parse(problems.ALL[name]), shrunk(problems.ALL[name])
    assert found.gate.keys() == found.legacy.keys() == made.constants.keys()
    before = trace(made, {}, real=found.real)
    for sizes, cost, elements in (
        (found.gate, GATE_COST, GATE_ELEMENTS),
        (found.legacy, LEGACY_COST, LEGACY_ELEMENTS),
    ):
        assert all(sizes[size] <= value for size, value in made.constants.items())
        after = trace(made, sizes, real=found.real)
        assert after.kinds == before.kinds
        assert [name for name, _ in after.lengths] == [name for name, _ in before.lengths]
        assert all(now >= min(was, 8) for (_, was), (_, now) in zip(before.lengths, after.lengths, strict=True))
        assert all(now <= was for was, now in zip(before.flat, after.flat, strict=True))
        assert after.cost <= cost and after.elements <= elements


def test_what_is_small_already_stays() -> None:
    found = shrunk(problems.LSTM)
    assert found.how == "unchanged" and found.gate == found.legacy == parse(problems.LSTM).constants


def test_groups_still_divide_channels_and_hold_several() -> None:
    code = problems.GROUP_NORM.replace("groups = 8", "groups = 32")
    for sizes in (shrunk(code).gate, shrunk(code).legacy):
        assert sizes["channels"] % sizes["groups"] == 0
        assert sizes["channels"] >= 2 * sizes["groups"] and sizes["groups"] > 1


def test_a_window_does_not_swallow_the_image() -> None:
    code = problem(
        layers("self.pool = nn.AvgPool2d(8)", "self.pool(x)"),
        "return [torch.rand(batch, 64, side, side)]",
        constants="batch = 64\nside = 128",
    )
    assert shrunk(code).gate["side"] >= 16


def test_a_layer_of_fixed_size_keeps_its_image_and_loses_its_batch() -> None:
    found = shrunk(problems.FLATTEN)
    assert found.gate["batch_size"] <= 4
    assert found.gate["input_1"] == found.gate["input_2"] == 32


def test_sizes_that_belong_together_are_repaired_together() -> None:
    """The reduced length must stay above 100 while all else may shrink: two constants hold it."""
    model = "def forward(self, a, b):\n    assert a.shape[1] >= 100\n    return a @ b"
    code = problem(
        model,
        "return [torch.rand(rows, left), torch.rand(right, columns)]",
        constants="rows = 512\nleft = 1024\nright = 1024\ncolumns = 2048",
    )
    found = shrunk(code)
    assert found.gate["left"] == found.gate["right"] >= 100
    assert found.gate["rows"] * found.gate["left"] * found.gate["columns"] <= GATE_COST


def test_a_problem_that_bears_no_other_size_is_refused_with_its_reason() -> None:
    model = (
        'def forward(self, a, b):\n    if a.shape != (2048, 4096):\n        raise ValueError("only this size")\n    return a @ b'
    )
    code = problem(model, "return [torch.rand(2048, 4096), torch.rand(4096, 1024)]")
    with pytest.raises(CannotShrinkError, match="the model raises ValueError: only this size"):
        shrunk(code)


def test_models_that_read_values_are_traced_on_real_ones() -> None:
    code = problem(forward("x[x.sum(1) > 0]"), "return [torch.rand(batch, width)]", constants="batch = 512\nwidth = 2048")
    found = shrunk(code)
    assert found.real and found.gate["width"] <= 64


def test_groups_of_convolutions_keep_several_channels() -> None:
    code = problem(
        layers("self.conv = nn.Conv2d(channels, channels, 3, groups=groups)", "self.conv(x)", constructor="channels, groups"),
        "return [torch.rand(batch, channels, side, side)]",
        constants="batch = 8\nchannels = 64\ngroups = 16\nside = 64",
        init="[channels, groups]",
    )
    for sizes in (shrunk(code).gate, shrunk(code).legacy):
        assert sizes["channels"] > sizes["groups"] > 1


def test_without_time_the_smallest_that_holds_is_taken() -> None:
    found = shrink(parse(problems.MATMUL), seconds=-20)
    assert set(found.gate.values()) == {8}


@pytest.mark.parametrize("name", ["matmul", "softmax", "sum", "conv", "linear", "batch norm", "tuple argument"])
def test_gate_sizes_are_told_apart(name: str) -> None:
    made, found = parse(problems.ALL[name]), shrunk(problems.ALL[name])
    names = [size for size, value in found.gate.items() if value > 8]
    apart = distinct(made, found, names)
    assert len({apart.gate[size] for size in names}) == len(names)
    assert apart.legacy == found.legacy
    assert trace(made, apart.gate).kinds == trace(made, {}).kinds


def test_sizes_that_are_tied_stay_tied() -> None:
    code = problem(
        forward("a @ b", "a, b"),
        "return [torch.rand(rows, left), torch.rand(right, columns)]",
        constants="rows = 512\nleft = 1024\nright = 1024\ncolumns = 2048",
    )
    found = distinct(parse(code), shrunk(code), ["rows", "left", "right", "columns"])
    assert found.gate["left"] == found.gate["right"]
    assert len(set(found.gate.values())) == 3


@given(st.integers(0, 1 << 20), st.sampled_from(LADDER))
def test_halving(value: int, cap: int) -> None:
    small = halved(value, cap)
    assert small == value if value <= cap else cap / 2 < small <= cap
    assert halved(2 * value, cap) == (halved(value, cap) if 2 * value > cap else 2 * value)
