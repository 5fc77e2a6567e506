"""What is called exact is bit for bit the same in float32, whatever the order in which sums are taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kcbench.infer.exactness import ExactMode, grain, largest


def is_exact(run: Callable[[], Any]) -> bool:
    mode = ExactMode()
    with torch.no_grad(), mode:
        run()
    return mode.exact


def integers(*shape: int, low: int = -2, high: int = 2, seed: int = 0) -> Tensor:
    return torch.randint(low, high + 1, shape, generator=torch.Generator().manual_seed(seed)).double()


@given(st.lists(st.tuples(st.integers(-(1 << 20), 1 << 20), st.integers(-30, 30)), min_size=1, max_size=8))
def test_grain_divides_every_value_and_no_larger_power_of_two_does(parts: list[tuple[int, int]]) -> None:
    values = torch.tensor([math.ldexp(mantissa, exponent) for mantissa, exponent in parts], dtype=torch.float64)
    step = grain(values)
    if not bool(values.any()):
        assert step == math.inf
        return
    assert bool((values / step == (values / step).round()).all())
    assert not bool((values / (2 * step) == (values / (2 * step)).round()).all())
    assert largest(values) == float(values.abs().max())


def test_infinities_have_no_grain() -> None:
    assert grain(torch.tensor([math.inf, -math.inf, 6.0])) == 2.0 and largest(torch.tensor([math.inf, -3.0])) == 3.0


EXACT: dict[str, Callable[[], Any]] = {
    "matrix product": lambda: integers(8, 64) @ integers(64, 8),
    "with a bias": lambda: torch.nn.functional.linear(integers(8, 64), integers(8, 64), integers(8)),
    "batches": lambda: torch.bmm(integers(3, 8, 9), integers(3, 9, 8)),
    "convolution": lambda: torch.nn.functional.conv2d(integers(2, 3, 8, 8), integers(4, 3, 3, 3), integers(4)),
    "sum": lambda: integers(8, 65).sum(1),
    "mean over a power of two": lambda: integers(8, 64).mean(1),
    "halves": lambda: (integers(8, 65) / 2 + 0.25).sum(1),
    "cumulative sum": lambda: integers(8, 65).cumsum(1),
    "relu and maximum": lambda: torch.relu(integers(8, 65)).amax(1),
    "masked with infinity": lambda: integers(8, 65).masked_fill(integers(8, 65, seed=1) > 0, -math.inf).amax(1),
    "one large, its negative and small ones": lambda: torch.cat(
        [torch.tensor([32768.0, -32768.0]).double(), integers(300) * 2 + 1]
    ).sum(),
    "pooling": lambda: torch.nn.functional.avg_pool2d(integers(2, 3, 8, 8), 2),
    "chain": lambda: torch.relu(integers(8, 64) @ integers(64, 32)) @ integers(32, 8, low=-1, high=1),
    "memory that is not initialised": lambda: torch.empty(4, 4, dtype=torch.float64).zero_().add_(1),
    "indices": lambda: integers(8, 65).argmax(1),
}

INEXACT: dict[str, Callable[[], Any]] = {
    "tenths": lambda: integers(8, 65) * 0.1,
    "mean over 65": lambda: integers(8, 65).mean(1),
    "mean over three that happens to come out": lambda: torch.tensor([[1.0, 2.0, 3.0]]).double().mean(1),
    "a third, though it comes out": lambda: (3 * integers(8, 65)) / 3,
    "many bits under a cover": lambda: torch.sign((integers(8, 64) / 1024 + integers(8, 64) ** 10).sum(1)),
    "large sums that cancel": lambda: (integers(65) / 1024 + integers(65, seed=1) ** 10).sum() - (integers(65, seed=1) ** 10).sum(),
    "a long sum": lambda: (integers(4096, low=1) * 8192).sum() * 0 + (integers(4096) * 8191).sum() * 0,
    "a product of many": lambda: integers(65, low=1, high=3).prod() * 0,
    "softmax of equal numbers": lambda: torch.softmax(torch.zeros(4, 64).double(), 1),
    "layer norm": lambda: torch.nn.functional.layer_norm(integers(4, 64), (64,)),
    "not a number": lambda: integers(4).masked_fill(integers(4) > -3, math.nan),
    "a loss of large differences": lambda: torch.nn.functional.mse_loss(integers(64, low=2000, high=4000), integers(64)) * 0,
    "beyond 24 bits": lambda: integers(8) + 2.0**24 + 1,
    "below the grain": lambda: integers(8) * 2.0**-11,
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str) -> None:
    assert is_exact(EXACT[name])


@pytest.mark.parametrize("name", INEXACT)
def test_not_exact(name: str) -> None:
    assert not is_exact(INEXACT[name])


Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "scale", "halve", "square", "relu", "product", "running", "large"]), st.integers(0, 6)),
    max_size=5,
)


def evaluate(
    steps: list[Step], x: Tensor, add_up: Callable[[Tensor], Tensor], product: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """A random program over the rows of a matrix, that ends in a sum; sums are the caller's."""
    for name, number in steps:
        weight = integers(x.shape[1], x.shape[1], seed=number).to(x.dtype)
        x = {
            "add": lambda x=x, n=number: x + n,
            "scale": lambda x=x, n=number: x * 2.0**n,
            "halve": lambda x=x, n=number: x / 2.0**n,
            "square": lambda x=x: x * x,
            "relu": lambda x=x: torch.relu(x),
            "product": lambda x=x, w=weight: product(x, w),
            "running": lambda x=x: x - add_up(x)[:, None],
            "large": lambda x=x, n=number: torch.where(x > 0, x, x * 2.0 ** (3 * n)),
        }[name]()
    return add_up(x)


@settings(max_examples=150)
@given(STEPS, st.integers(0, 1 << 16))
def test_what_is_exact_is_the_same_in_any_order_in_float32(steps: list[Step], seed: int) -> None:
    x = integers(3, 24, seed=seed)
    mode = ExactMode()
    with mode:
        want = evaluate(steps, x, lambda v: v.sum(1), torch.matmul)
    generator = torch.Generator().manual_seed(seed)

    def add_up(values: Tensor) -> Tensor:
        total = torch.zeros(values.shape[0], dtype=values.dtype)
        for place in torch.randperm(values.shape[1], generator=generator).tolist():
            total = total + values[:, place]
        return total

    def product(a: Tensor, b: Tensor) -> Tensor:
        total = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
        for place in torch.randperm(a.shape[1], generator=generator).tolist():
            total = total + a[:, place, None] * b[place]
        return total

    if mode.exact:
        for _ in range(3):
            got = evaluate(steps, x.float(), add_up, product)
            assert torch.equal(got.double(), want)
