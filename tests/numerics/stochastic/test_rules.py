"""Rules against formulas worked out by hand, and what a rule must never change."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kcbench.numerics.stochastic import estimate
from tests.numerics.stochastic.noisy import U, randn, rms_deviation


def overall(deviation: Tensor, expected: Tensor | float) -> float:
    """Root mean square of the ratio of the two."""
    return (deviation / expected).square().mean().sqrt().item()


@pytest.mark.parametrize("length", [2, 16, 17, 100, 1000])
@pytest.mark.parametrize("positive", [False, True])
def test_dot_product(length: int, positive: bool) -> None:
    a, b = randn(40, length), randn(length, 30, seed=1)
    if positive:
        a, b = a.abs(), b.abs()
    size = -(-length // 16)
    prefixes = torch.stack([a[:, :k] @ b[:k] for k in range(size, length + size, size)])
    s, q = a @ b, a.square() @ b.square()
    expected = U * (length * torch.maximum(s.square() / 3 + q / 6, prefixes.square().mean(0)) + q).sqrt()
    assert overall(rms_deviation(lambda: a @ b), expected) == pytest.approx(1, rel=0.02)
    assert overall(rms_deviation(lambda: torch.baddbmm(a.new_zeros(()), a[None], b[None], beta=0)[0]), expected) == pytest.approx(
        1, rel=0.02
    )


def test_sum_has_the_deviation_of_a_dot_product_with_ones() -> None:
    x = randn(500, 77)
    ones = x.new_ones(77, 1)
    assert overall(rms_deviation(lambda: x.sum(1)), rms_deviation(lambda: x @ ones)[:, 0]) == pytest.approx(1, rel=0.05)
    y = x.view(5, 100, 7, 11)
    expected = rms_deviation(lambda: x.sum(1))
    assert overall(rms_deviation(lambda: y.sum((2, 3)).flatten()), expected) == pytest.approx(1, rel=0.05)
    assert overall(rms_deviation(lambda: y.permute(2, 0, 3, 1).sum((0, 2)).flatten()), expected) == pytest.approx(1, rel=0.05)


def sequential(terms: Tensor, start: Tensor) -> Tensor:
    """The float32 sum of terms along the last dimension, one after the other."""
    total = start.float()
    for term in terms.float().unbind(-1):
        total = total + term
    return total.double()


@pytest.mark.parametrize("length", [16, 200])
def test_an_accumulator_may_start_at_a_bias_that_dwarfs_the_products(length: int) -> None:
    a, b, bias = (
        randn(64, length).float().double() * 1e-3,
        randn(length, 32, seed=1).float().double() * 1e-3,
        randn(32, seed=2).float().double(),
    )
    found = estimate(lambda: [torch.addmm(bias, a, b)], regime="ieee", store="float32", seed="s")
    terms = a[:, None, :] * b.t()[None]
    error = (sequential(terms, bias.expand(64, 32)) - (bias + a @ b)).abs()
    z = error / found.sigma[0]
    assert z.max() < 8
    # Without the bias in the accumulator only its own rounding is left, and that is not enough.
    assert (error / (U * bias.abs())).max() > 4


def test_a_sum_may_lose_what_vanishes_beside_its_largest_term() -> None:
    x = torch.cat([torch.ones(50, 1), torch.full((50, 200), 0.45 * 2.0**-24)], 1).double()
    found = estimate(lambda: [x.sum(1)], regime="ieee", store="float32", seed="s")
    error = (sequential(x[:, 1:], x[:, 0]) - x.sum(1)).abs()
    assert (error > 80 * U).all(), "all of the small terms are lost"
    assert (error / found.sigma[0]).max() < 8
    ordinary = randn(50, 201)
    assert (estimate(lambda: [ordinary.sum(1)], regime="ieee", store="float32", seed="s").sigma[0] < 400 * U).all()


def test_convolution_is_the_dot_product_of_its_columns() -> None:
    x, w = randn(2, 6, 9, 8), randn(5, 6, 3, 2, seed=1)
    columns = F.unfold(x, (3, 2), padding=1, stride=2).transpose(1, 2)
    expected = rms_deviation(lambda: columns @ w.flatten(1).t(), draws=256)
    got = rms_deviation(lambda: F.conv2d(x, w, padding=1, stride=2).flatten(2).transpose(1, 2), draws=256)
    assert overall(got, expected) == pytest.approx(1, rel=0.03)
    assert (got / expected).min() > 0.7
    assert (got / expected).max() < 1.4


def test_grouped_and_transposed_convolutions_agree_with_dense_ones() -> None:
    x, w = randn(2, 4, 9), randn(4, 1, 3, seed=1)
    dense = torch.zeros(4, 4, 3, dtype=torch.float64)
    dense[range(4), range(4)] = w[:, 0]
    grouped = rms_deviation(lambda: F.conv1d(x, w, groups=4))
    # The dense one sums three times as many products, most of them zero.
    assert 1 < overall(rms_deviation(lambda: F.conv1d(x, dense)), grouped) < 3
    transposed = rms_deviation(lambda: F.conv_transpose1d(x, w.flip(2), groups=4, padding=2))
    assert overall(transposed, grouped) == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(
    ("op", "units"),
    [
        (lambda x: x + 1.1, 0.5),
        (lambda x: x * x, 0.5),
        (lambda x: F.leaky_relu(x), 0.5),
        (lambda x: x / 3.0, 1.0),
        (lambda x: torch.sqrt(x), 1.0),
        (lambda x: torch.rsqrt(x), 1.0),
        (lambda x: x**2, 0.5),
        (lambda x: x.clamp(min=0.1), 0.5),
    ],
)
def test_elementwise_roundoffs(op: Callable[[Tensor], Tensor], units: float) -> None:
    x = randn(4000).abs() + 0.2
    # Half a roundoff is shared by all elements of an operation.
    assert overall(rms_deviation(lambda: op(x)), U * math.hypot(units, 0.5) * op(x).abs()) == pytest.approx(1, rel=0.05)


def test_exponential_carries_the_jitter_of_its_operand() -> None:
    x = 8 * randn(4000)
    expected = U * (4 + 0.25 + x.square()).sqrt() * x.exp()
    assert overall(rms_deviation(lambda: x.exp()), expected) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(
    "op",
    [
        lambda x: F.relu(x),
        lambda x: -x.abs(),
        lambda x: x.t().contiguous(),
        lambda x: torch.cat([x, x.flip(0)])[3:],
        lambda x: x.amax(1),
        lambda x: x.max(1).values,
        lambda x: F.max_pool1d(x, 3, 2),
        lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
        lambda x: x.masked_fill(x < 0, -math.inf),
        lambda x: torch.sort(x, 1).values,
        lambda x: x[torch.tensor([3, 0, 3])],
        lambda x: F.embedding(torch.tensor([1, 4]), x),
        lambda x: F.pad(x, (1, 2)),
        lambda x: F.threshold(x, 0.1, 7.0),
        lambda x: x.round(),
        lambda x: torch.triu(x),
        lambda x: x[:, :1].sum(1),
    ],
)
@pytest.mark.parametrize("store", ["float32", "bfloat16"])
def test_exact_operations(op: Callable[[Tensor], Tensor], store: str) -> None:
    x = randn(20, 30).bfloat16().double()
    result = estimate(lambda: [op(x)], regime="ieee", store=store, seed="exact")
    assert torch.equal(result.center[0], op(x))
    assert not result.blackbox
    assert not result.sigma[0].any()
    assert not result.ambiguous[0].any()


def test_integers_pass_untouched() -> None:
    i = torch.arange(12).view(3, 4)
    result = estimate(lambda: [i @ i.t() + 1, i.cumsum(0), (i > 3) & (i < 7)], regime="ieee", store="float32", seed="int")
    assert all(not s.any() for s in result.sigma)
    assert all(not a.any() for a in result.ambiguous)
    assert torch.equal(result.center[0], i @ i.t() + 1)


def test_variance_and_norms() -> None:
    x = randn(800, 300) + 5
    relative = U * math.sqrt(300 / 3 + 2)
    v = x.var(1)
    ratio = (1 + x.mean(1).square() / v).sqrt()
    assert overall(rms_deviation(lambda: x.var(1)), relative * ratio * v) == pytest.approx(1, rel=0.05)
    assert overall(rms_deviation(lambda: x.std(1)), 0.5 * relative * ratio * v.sqrt()) == pytest.approx(1, rel=0.05)
    norm = x.norm(dim=1)
    assert overall(rms_deviation(lambda: x.norm(dim=1)), U * math.hypot(0.5 * math.sqrt(102) + 1, 0.5) * norm) == pytest.approx(
        1, rel=0.05
    )


def test_scans() -> None:
    x = randn(300, 64).abs()
    y, q = x.cumsum(1), x.square().cumsum(1)
    k = torch.arange(1, 65, dtype=torch.float64)
    expected = U * torch.maximum(k * (y.square() / 3 + q / 6) + q, y.square().cumsum(1)).sqrt()
    got = rms_deviation(lambda: x.cumsum(1))
    assert overall(got[:, 4:], expected[:, 4:]) == pytest.approx(1, rel=0.05)
    p = x.cumprod(1)
    assert overall(rms_deviation(lambda: x.cumprod(1)), U * (k + 0.5).sqrt() * p) == pytest.approx(1, rel=0.05)


def test_sums_of_equal_terms_may_drift() -> None:
    n = 4096
    plain, equal = randn(1, n).abs().expand(64, n), torch.full((64, n), 0.7, dtype=torch.float64)
    drift = 0.25 * U * n * equal.sum(1)
    assert overall(rms_deviation(lambda: equal.sum(1)), drift) == pytest.approx(1, rel=0.1)
    assert rms_deviation(lambda: plain.sum(1)).max() < 0.1 * drift[0]


def test_tensor_cores_truncate_in_one_direction() -> None:
    a, b = randn(30, 512).abs(), randn(512, 20, seed=1).abs()
    s = a @ b
    bias = 0.175 * U * 32 * s
    got = rms_deviation(lambda: a @ b, store="bfloat16")
    plain = rms_deviation(lambda: a @ b)
    assert overall(got, (plain.square() + 2 * bias.square()).sqrt()) == pytest.approx(1, rel=0.1)


def test_tf32_rounds_and_truncates_the_operands() -> None:
    a, b = randn(30, 512), randn(512, 20, seed=1)
    t = 2.0**-11
    s, q = a @ b, a.square() @ b.square()
    expected = t * (1.25 * s.square() + 0.5 * q).sqrt()
    assert overall(rms_deviation(lambda: a @ b, regime="tf32", draws=256), expected) == pytest.approx(1, rel=0.05)
    # The regime is that of float32 contractions: 16-bit operands are exact in tf32.
    assert torch.equal(rms_deviation(lambda: a @ b, "bfloat16", "tf32"), rms_deviation(lambda: a @ b, "bfloat16", "ieee"))
    assert torch.equal(rms_deviation(lambda: a.exp(), regime="tf32"), rms_deviation(lambda: a.exp()))


def test_float64_is_simulated_at_a_larger_roundoff() -> None:
    a, b = randn(30, 50), randn(50, 20, seed=1)
    single = estimate(lambda: [a @ b], regime="ieee", store="float32", seed="s").sigma[0]
    double = estimate(lambda: [a @ b], regime="ieee", store="float64", seed="s").sigma[0]
    assert overall(double, single * 2.0**-29 * math.sqrt(2)) == pytest.approx(1, rel=1e-3)


# Stores.


def test_a_store_shows_where_the_result_is_read() -> None:
    a, b = randn(40, 30), randn(30, 20, seed=1)
    u = 2.0**-8
    assert overall(rms_deviation(lambda: a @ b, "bfloat16"), (a @ b).abs()) < 0.01 * u
    assert overall(rms_deviation(lambda: F.relu(a @ b) + 0.0, "bfloat16")[a @ b > 0], (a @ b)[a @ b > 0]) == pytest.approx(
        0.5 * u, rel=0.05
    )
    # Exact one-to-one operations hand the store on: eager still rounds once.
    assert overall(rms_deviation(lambda: (a @ b).t().contiguous().neg(), "bfloat16"), (a @ b).t()) < 0.01 * u


def test_a_store_is_shared_by_all_readers_and_all_views() -> None:
    a = randn(40, 30)

    def run() -> Tensor:
        y = a * 1.5
        first = y.view(-1) * 0.0
        return y.t().flatten().view(30, 40).t() - y + first.view(40, 30)

    assert rms_deviation(run, "bfloat16").max() < 8 * U * a.abs().max()


def test_composites_store_once() -> None:
    x = randn(50, 200)
    u = 2.0**-8
    for op in (lambda: F.softmax(x, 1), lambda: F.layer_norm(x, (200,)), lambda: F.gelu(x)):
        assert overall(rms_deviation(op, "bfloat16"), op().abs().clamp(min=1e-4)) < 0.02 * u


def test_convolution_stores_before_its_bias() -> None:
    x, w, b = randn(2, 3, 8, 8), randn(4, 3, 3, 3, seed=1), 1e-6 * randn(4)
    plain = F.conv2d(x, w)
    assert overall(rms_deviation(lambda: F.conv2d(x, w, b), "float16"), plain) == pytest.approx(0.5 * 2.0**-11, rel=0.1)


def test_half_precision_underflows_gradually() -> None:
    x = torch.full((1000,), 2.0**-20, dtype=torch.float64)
    spacing = 2.0**-24
    assert overall(rms_deviation(lambda: (x * 1.0) * 1.0, "float16"), 0.29 * spacing) == pytest.approx(1, rel=0.05)
    zero = torch.zeros(10, dtype=torch.float64)
    assert not rms_deviation(lambda: (zero * 1.0) * 1.0, "float16").any()
