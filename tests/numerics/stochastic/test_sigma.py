"""Draws, shrinkage, jumps, chaos and z."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from kcbench.numerics.stochastic import KAPPA, Estimate, estimate, z_score
from kcbench.numerics.stochastic.sigma import DRAWS_FEW, shrunk

U = 2.0**-24


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def of(run: object, **options: object) -> Estimate:
    return estimate(run, **{"regime": "ieee", "store": "float32", "seed": "s", **options})  # type: ignore[arg-type]


# Shrinkage


def test_shrinkage_by_hand() -> None:
    raw = torch.tensor([1.0, 4.0, 16.0, 3.0], dtype=torch.float64)
    center = torch.tensor([1.0, -2.0, 3.0, -4.0], dtype=torch.float64)
    assert torch.allclose(shrunk(raw, center, 8).square(), (8 * raw + 4 * 6.0) / 12)
    assert torch.allclose(shrunk(raw, center, 32).square(), (32 * raw + 4 * 6.0) / 36)
    # An exact zero has at least the root mean square.
    center[0] = 0
    expected = (8 * raw + 24) / 12
    expected[0] = expected.mean()
    assert torch.allclose(shrunk(raw, center, 8).square(), expected)


def test_the_prior_is_the_mean_over_65_elements_of_like_size() -> None:
    center = randn(300)
    raw = randn(300, seed=1).square()
    order = center.abs().argsort()
    expected = torch.empty_like(raw)
    for rank, at in enumerate(order.tolist()):
        low = min(max(rank - 32, 0), 300 - 65)
        expected[at] = (8 * raw[at] + 4 * raw[order[low : low + 65]].mean()) / 12
    assert torch.allclose(shrunk(raw, center, 8).square(), expected)
    assert torch.equal(shrunk(raw.view(20, 15), center.view(20, 15), 8).flatten(), shrunk(raw, center, 8))


def test_elements_that_are_not_finite_do_not_count() -> None:
    center = randn(200)
    raw = randn(200, seed=1).square()
    center[::10] = torch.tensor([math.inf, -math.inf, math.nan, math.inf]).repeat(5)
    whole = shrunk(raw, center, 8)
    judged = center.isfinite()
    assert torch.equal(whole[judged], shrunk(raw[judged], center[judged], 8))
    assert not whole[~judged].any()
    assert not shrunk(raw, torch.full_like(raw, math.nan), 8).any()
    assert shrunk(raw[:0], center[:0], 8).shape == (0,)


def test_shrinkage_keeps_a_perfect_model_under_kappa() -> None:
    n = 300_000
    noise = torch.randn(9, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    center = torch.rand(n, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 1
    raw = noise[:8].square().mean(0)
    assert (noise[8].abs() / raw.sqrt()).max() > KAPPA
    assert (noise[8].abs() / shrunk(raw, center, 8)).max() < KAPPA - 1


# Few outputs


def test_few_outputs_take_more_draws() -> None:
    x = randn(40)
    assert of(lambda: [x.mean()]).draws == DRAWS_FEW
    assert of(lambda: [x * 2, x.sum()]).draws == DRAWS_FEW
    assert of(lambda: [x * 2]).draws == 8
    assert of(lambda: [x * 2], draws=20).draws == 20


def test_a_scalar_is_never_refused_for_an_unlucky_sigma() -> None:
    worst = 0.0
    for seed in range(60):
        x = torch.randn(8, generator=torch.Generator().manual_seed(seed))
        xd = x.double()

        def loss(v: Tensor) -> Tensor:
            return ((v[0] * v[1] + v[2]) / (v[3].abs() + 3) - (v * v.flip(0)).mean()).exp()

        result = of(lambda xd=xd, loss=loss: [loss(xd)], seed=str(seed))
        z = z_score(loss(x).double() - result.center[0], result.center[0], result.sigma[0], dtype="float32")
        worst = max(worst, z.item())
        assert result.sigma[0] > 0.2 * U * result.center[0].abs()
    assert worst < KAPPA / 4


# Jumps


def test_elements_near_a_jump_are_ambiguous() -> None:
    x = torch.linspace(-2, 2, 401, dtype=torch.float64) + 0.0
    noisy = (x * 3).div(3)
    result = of(lambda: [(x * 3).div(3).round(), ((x * 3).div(3) > 0.3).double(), (x * 3).div(3).floor().long()])
    for lost, edges in zip(result.ambiguous, ([-1.5, -0.5, 0.5, 1.5], [0.3], [-2.0, -1.0, 0.0, 1.0, 2.0]), strict=True):
        near = (noisy.unsqueeze(1) - torch.tensor(edges, dtype=torch.float64)).abs().amin(1) < 1e-9
        assert not lost[~near].any()
        # Every edge but 0, which relative noise cannot cross.
        assert lost.sum() >= near.sum() - 1
    # Elsewhere nothing moves: a jump has no derivative.
    assert not result.sigma[0].any()


def test_a_flip_that_is_lost_in_the_noise_is_not_ambiguous() -> None:
    x = randn(3000)
    assert not of(lambda: [torch.where(x * 1.1 > 0, x * 1.1, 0.0), F.relu(x * 1.1).sum()]).ambiguous[1]


def test_gradients_of_dead_units() -> None:
    # The third unit sits on the kink: which side it falls on is luck.
    w = torch.tensor([[1.0, 0.1], [-1.0, 0.3], [0.1, -0.1]], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[0.7, 0.7]], dtype=torch.float64)

    def run() -> list[Tensor]:
        return [*torch.autograd.grad(F.relu(x @ w.t()).sum(), w)]

    assert of(run).ambiguous[0].tolist() == [[False, False], [False, False], [True, True]]


def test_what_only_noise_makes_nan_is_ambiguous() -> None:
    x = randn(100).abs()
    result = of(lambda: [((x * x).sqrt() - x).sqrt() + 1])
    assert result.center[0].isfinite().all()
    assert result.ambiguous[0].all()
    assert result.sigma[0].isfinite().all()


def test_control_flow_follows_the_recorded_path() -> None:
    x = randn(50)

    def run() -> list[Tensor]:
        y = (x * 1.1).sum()
        # The test is a coin toss under noise.
        return [x * 2 if bool(y / 1.1 - x.sum() > 1e-9 * (x * 1.1).max()) else x * 3]

    assert of(run).sigma[0].max() < 4 * U * x.abs().max()


# Chaos


def test_chaos_is_vacuous() -> None:
    x = torch.linspace(0.1, 0.9, 200, dtype=torch.float64)

    def logistic(steps: int) -> list[Tensor]:
        y = x
        for _ in range(steps):
            y = 3.99 * y * (1 - y)
        return [y]

    assert not of(lambda: logistic(3)).vacuous
    assert of(lambda: logistic(40)).vacuous


def test_a_gradient_that_vanishes_identically_is_not_chaos() -> None:
    x = randn(20, 30).requires_grad_()

    def run() -> list[Tensor]:
        y = F.softmax(x, 1)
        return [y.detach(), *torch.autograd.grad(y.sum(), x)]

    result = of(run)
    assert not result.vacuous
    assert result.sigma[1].min() > 0


def test_zeros_would_pass_where_16_bit_is_vacuous() -> None:
    x = randn(100)
    result = of(lambda: [((x + 100) * 1.0 - 100) * 1.0], store="bfloat16")
    assert result.vacuous
    z = z_score(-result.center[0], result.center[0], result.sigma[0], dtype="bfloat16")
    assert z.median() < KAPPA


# Seeds


def test_seeds() -> None:
    a, b = randn(9, 8), randn(8, 7, seed=1)
    one, same, other = (of(lambda: [F.softmax(a @ b, 1)], seed=s) for s in ("x", "x", "y"))
    assert torch.equal(one.sigma[0], same.sigma[0])
    assert not torch.equal(one.sigma[0], other.sigma[0])
    assert torch.equal(one.center[0], other.center[0])
    assert torch.allclose(one.sigma[0].log2().mean(), other.sigma[0].log2().mean(), atol=0.5)


def test_arguments() -> None:
    x = randn(3)
    with pytest.raises(ValueError, match="regime"):
        of(lambda: [x], regime="fp8")
    with pytest.raises(ValueError, match="int8"):
        of(lambda: [x], store="int8")
    with pytest.raises(ValueError, match="draw"):
        of(lambda: [x], draws=0)
    assert of(list).center == ()


# z


def test_z_by_hand() -> None:
    truth = torch.tensor([1.0, -2.0, 0.0, 4.0], dtype=torch.float64)
    sigma = torch.tensor([U, U, U, 0.0], dtype=torch.float64)
    error = torch.tensor([3 * U, 1.5 * U, -5 * U, 4 * U], dtype=torch.float64)
    z = z_score(error, truth, sigma, dtype="float32")
    assert torch.allclose(z, torch.tensor([2.0, 0.0, 5.0, 0.0], dtype=torch.float64))
    error[3] *= 1.1
    assert z_score(error, truth, sigma, dtype="float32")[3] == math.inf
    assert torch.equal(z_score(-error, truth, sigma, dtype="float32"), z_score(error, truth, sigma, dtype="float32"))


def test_z_of_what_is_not_finite() -> None:
    bad = torch.tensor([math.nan, math.inf, -math.inf, 0.0], dtype=torch.float64)
    ones = torch.ones(4, dtype=torch.float64)
    assert z_score(bad, ones, ones, dtype="float16").tolist() == [math.inf, math.inf, math.inf, 0.0]
    assert not z_score(ones, torch.tensor([math.nan, math.inf, -math.inf, math.nan]), 0 * ones, dtype="float32").any()


@pytest.mark.parametrize(("dtype", "eta"), [("float32", 2.0**-126), ("bfloat16", 2.0**-126), ("float16", 2.0**-24)])
def test_z_allows_one_underflow(dtype: str, eta: float) -> None:
    zero = torch.zeros(1, dtype=torch.float64)
    assert z_score(zero + eta, zero, zero, dtype=dtype) == 0
    assert z_score(zero + 1.01 * eta, zero, zero, dtype=dtype) == math.inf


def test_z_of_integers() -> None:
    truth = torch.tensor([3, 4])
    assert z_score(torch.tensor([0, 1]), truth, torch.zeros(2), dtype="int64").tolist() == [0.0, math.inf]


# Properties


@settings(max_examples=15)
@given(st.integers(-20, 20), st.integers(1, 40), st.sampled_from(["float32", "bfloat16"]), st.sampled_from(["ieee", "tf32"]))
def test_sigma_scales_with_powers_of_two(exponent: int, length: int, store: str, regime: str) -> None:
    a, b = randn(5, length), randn(length, 6, seed=1)
    factor = 2.0**exponent

    def run(scale: float) -> list[Tensor]:
        y = (scale * a) @ b
        return [y + y.mean(1, keepdim=True), y.std(1), y.amax(0)]

    plain, scaled = (of(lambda f=f: run(f), store=store, regime=regime) for f in (1.0, factor))
    for s, t in zip(plain.sigma, scaled.sigma, strict=True):
        assert torch.allclose(s * factor, t, rtol=1e-6)


OPERATIONS = {
    "matmul": lambda x: x @ x.t() @ x / x.shape[0],
    "softmax": lambda x: F.softmax(x, -1),
    "norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "gelu": F.gelu,
    "tanh": torch.tanh,
    "mean": lambda x: x - x.mean(0, keepdim=True),
    "cumsum": lambda x: x.cumsum(1) / 4,
    "relu": lambda x: F.relu(x) - 0.125,
    "silu": F.silu,
    "normalize": lambda x: F.normalize(x, dim=1),
    "pool": lambda x: F.avg_pool1d(x, 3, 1, 1),
    "transpose": lambda x: x.t().contiguous().t() * 1.7,
    "logsumexp": lambda x: x - torch.logsumexp(x, 1, keepdim=True),
    "inplace": lambda x: x.clone().mul_(0.9).add_(x),
}


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=6),
    st.integers(2, 12),
    st.integers(2, 40),
    st.integers(0, 10**6),
    st.sampled_from(["float32", "bfloat16", "float16"]),
)
def test_eager_passes_on_any_chain_of_operations(names: list[str], rows: int, columns: int, seed: int, store: str) -> None:
    dtype = getattr(torch, store)
    if store != "float32":
        # These accumulate in 16 bit, or keep an unrounded intermediate, on a CPU.
        names = [n for n in names if n not in ("cumsum", "pool")]
    x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)).to(dtype)

    def chain(v: Tensor) -> Tensor:
        for name in names:
            v = OPERATIONS[name](v)
        return v

    y = chain(x)
    # float64 does not overflow where float16 does; classes are compared elsewhere.
    assume(bool(y.isfinite().all()))
    result = of(lambda: [chain(x.double())], store=store, seed=str(seed))
    center, sigma, lost = result.center[0], result.sigma[0], result.ambiguous[0]
    assert sigma.shape == center.shape
    assert not result.blackbox
    assert sigma.isfinite().all()
    assert (sigma >= 0).all()
    if not result.vacuous:
        z = z_score(y.double() - center, center, sigma, dtype=store)
        assert torch.where(lost, 0.0, z).max() <= KAPPA
