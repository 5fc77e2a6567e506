"""Inputs that only the problem can make: the same for the same key, whoever else draws meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kcbench.errors import KcbenchError
from kcbench.oracle.generate import Generator, generator_seed
from kcbench.oracle.seeding import seeded
from tests.oracle.tasks import made

TASK = made("return x")
SIZES = {"rows": 4, "width": 6}


def test_equal_keys_give_equal_inputs_at_the_sizes_that_are_asked_for() -> None:
    generate = Generator(TASK)
    first, again, other = (generate(SIZES, key)[0] for key in ("a", "a", "b"))
    assert tuple(first.shape) == (4, 6)
    assert torch.equal(first, again) and not torch.equal(first, other)
    torch.manual_seed(generator_seed("a"))
    assert torch.equal(first, torch.rand(4, 6))
    assert tuple(generate({**SIZES, "rows": 1}, "a")[0].shape) == (1, 6)


@given(st.text(), st.text())
def test_seeds_are_what_torch_takes_and_differ(one: str, two: str) -> None:
    assert 0 <= generator_seed(one) < 1 << 63
    assert (generator_seed(one) == generator_seed(two)) == (one == two)


def test_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    Generator(TASK)(SIZES, "a")
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(ZeroDivisionError), seeded(3):
        torch.rand(3)
        1 / 0  # noqa: B018
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_do_not_mix_their_draws() -> None:
    generate = Generator(made("return x", inputs="return [torch.rand(width) for _ in range(rows)]"))
    sizes = {"rows": 40, "width": 50}
    alone = [generate(sizes, str(key)) for key in range(6)]
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(lambda key: generate(sizes, str(key)), range(6)))
    for one, other in zip(alone, together, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_seeds_may_be_nested() -> None:
    with seeded(1):
        first = torch.rand(3)
        with seeded(1):
            assert torch.equal(torch.rand(3), first)
        second = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3), first) and torch.equal(torch.rand(3), second)


def test_a_size_without_a_constant_is_refused() -> None:
    with pytest.raises(KcbenchError, match="the task has no constant 'depth'"):
        Generator(TASK)({"depth": 3}, "a")
