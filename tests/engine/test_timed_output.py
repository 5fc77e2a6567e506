"""Whether a timed output answers its own inputs: honest arithmetic in any precision does, and nothing else does."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kcbench.domain.observation import Observation, Raised
from kcbench.engine.timed_output import problem
from kcbench.oracle.eager import record


def seen(*outputs: Tensor) -> Observation:
    return Observation("ok", outputs=tuple(record(output) for output in outputs))


def draw(seed: int, *shape: int) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def softmax() -> tuple[Observation, Observation, Tensor]:
    x, other = draw(1, 64, 4096), 0.7 * draw(2, 64, 4096)
    return seen(torch.softmax(x, 1)), seen(torch.softmax(other, 1)), x


def test_what_the_legacy_tolerance_cannot_see_is_seen(softmax: tuple[Observation, Observation, Tensor]) -> None:
    want, other, x = softmax
    right = torch.softmax(x, 1)
    for wrong in (torch.softmax(0.7 * draw(2, 64, 4096), 1), torch.zeros_like(right), torch.full_like(right, 1 / 4096)):
        assert torch.allclose(wrong, right, atol=1e-2, rtol=1e-2)
        assert "as far" in problem(want, other, seen(wrong))
    assert problem(want, other, want) == ""


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_coarse_arithmetic_is_not_accused(softmax: tuple[Observation, Observation, Tensor], dtype: torch.dtype) -> None:
    want, other, x = softmax
    assert problem(want, other, seen(torch.softmax(x.to(dtype), 1).float())) == ""
    a, b, c = draw(3, 64, 512), draw(4, 512, 32), draw(5, 64, 512)
    assert problem(seen(a @ b), seen(c @ b), seen((a.to(dtype) @ b.to(dtype)).float())) == ""


def test_a_tenth_of_stale_rows_is_seen(softmax: tuple[Observation, Observation, Tensor]) -> None:
    want, other, x = softmax
    mixed = torch.softmax(x, 1)
    mixed[:6] = torch.softmax(0.7 * draw(2, 64, 4096), 1)[:6]
    assert problem(want, other, seen(mixed)) != ""


def test_answers_that_are_nearly_alike_are_compared_by_rounding() -> None:
    right, other = torch.tensor([2048.0]), torch.tensor([2048.0])
    assert problem(seen(right), seen(other), seen(right * (1 + 4 * 2**-23))) == ""
    assert "inf times" in problem(seen(right), seen(other), seen(right + 1))


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        (torch.ones(3), "expected float32[2, 2], found float32[3]"),
        (torch.ones(2, 2, dtype=torch.float16), "found float16[2, 2]"),
        (torch.tensor([[1.0, math.nan], [1.0, 1.0]]), "NaN or infinity"),
    ],
)
def test_other_differences_are_named(mine: Tensor, message: str) -> None:
    assert message in problem(seen(torch.ones(2, 2)), seen(torch.zeros(2, 2)), seen(mine))


def test_outputs_that_are_not_there() -> None:
    one = seen(torch.ones(2))
    assert problem(one, one, seen()) == "expected 1 outputs, found 0"
    assert problem(one, one, seen(torch.ones(2), torch.ones(2))) == "expected 1 outputs, found 2"
    raised = Observation("raised", raised=Raised("UnreadableError", ""))
    assert problem(one, one, raised) == "it cannot be read: UnreadableError: "


def test_without_another_set_the_distance_from_zero_is_the_measure() -> None:
    right = draw(1, 100)
    assert problem(seen(right), None, seen(right * 1.001)) == ""
    for wrong in (torch.zeros(100), right * 0.9, right.flip(0)):
        assert problem(seen(right), None, seen(wrong)) != ""


def test_a_large_output_is_looked_at_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.engine.timed_output.LOOKED_AT", 100)
    monkeypatch.setattr("kcbench.engine.timed_output.CHUNK", 7)
    right, other = draw(1, 1000), draw(2, 1000)
    assert problem(seen(right), seen(other), seen(right)) == ""
    for part in (slice(0, 100), slice(450, 550), slice(900, 1000)):
        mixed = right.clone()
        mixed[part] = other[part]
        assert problem(seen(right), seen(other), seen(mixed)) != ""


def test_infinities_in_their_places_are_right() -> None:
    want, other = torch.tensor([1.0, math.inf, 3.0]), torch.tensor([9.0, 8.0, 7.0])
    assert problem(seen(want), seen(other), seen(want)) == ""
    assert problem(seen(want), seen(other), seen(torch.tensor([1.0, math.inf, 9.0]))) != ""


def test_integers_and_complex_numbers_and_empty_outputs() -> None:
    index = torch.arange(100)
    assert problem(seen(index), seen(index.flip(0)), seen(index)) == ""
    assert problem(seen(index), seen(index.flip(0)), seen(index.flip(0))) != ""
    flags = index % 2 == 0
    assert problem(seen(flags), seen(~flags), seen(flags)) == "" and problem(seen(flags), seen(~flags), seen(~flags)) != ""
    wave = torch.complex(draw(1, 9), draw(2, 9))
    assert problem(seen(wave), seen(wave.conj().resolve_conj()), seen(wave)) == ""
    assert problem(seen(torch.empty(0)), seen(torch.empty(0)), seen(torch.empty(0))) == ""


@given(st.integers(0, 1000), st.floats(0, 1e-3))
def test_the_answer_itself_passes_and_the_other_does_not(seed: int, error: float) -> None:
    right, other = draw(seed, 50), draw(seed + 5000, 50)
    assert problem(seen(right), seen(other), seen(right * (1 + error))) == ""
    assert problem(seen(right), seen(other), seen(other)) != ""
