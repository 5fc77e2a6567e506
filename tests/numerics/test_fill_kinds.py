"""What each kind of fill promises of its values."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.numerics import fills
from kcbench.numerics.fills import FLOATS, fill
from kcbench.numerics.formats import FORMATS, subnormal
from tests.numerics.recipes import DTYPES, NORMAL, dtypes, keys, quick, same_bits, shapes

# --- distributions


def test_normal_moments_and_tails() -> None:
    x = fill(NORMAL, (200_001,), "float64", "moments")
    n = x.numel()
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs(float((x**power).mean()) - moment) < 5 * math.sqrt(variance / n)
    for cut in (-2.0, -1.0, 0.0, 0.5, 1.5, 3.0):
        p = 0.5 * math.erfc(-cut / math.sqrt(2))
        assert abs(float((x < cut).double().mean()) - p) < 5 * math.sqrt(p * (1 - p) / n)
    y = fill({"kind": "normal", "mean": 3, "std": 0.5}, (200_001,), "float64", "moments")
    assert torch.allclose(y, x * 0.5 + 3, rtol=0, atol=1e-15)


def test_uniform_family() -> None:
    for kind, low, high in (("uniform", 0, 1), ("positive", 0.5, 2), ("log_decay", -1, -0.01)):
        x = fill({"kind": kind}, (50_001,), "float64", "u")
        assert low <= float(x.min()) < low + 1e-3 * (high - low)
        assert high - 1e-3 * (high - low) < float(x.max()) <= high
        assert abs(float(x.mean()) - (low + high) / 2) < 5 * (high - low) / math.sqrt(12 * 50_001)
    assert float(fill({"kind": "uniform", "low": 2, "high": 2}, (3,), "float32", "u").sum()) == 6


def test_transformed_normals() -> None:
    z = fill(NORMAL, (5000,), "float64", "k")
    assert torch.allclose(fill({"kind": "lognormal", "sigma": 2.0}, (5000,), "float64", "k"), torch.exp(2 * z), rtol=1e-14)
    assert torch.allclose(fill({"kind": "logistic"}, (5000,), "float64", "k"), torch.sigmoid(z), rtol=1e-14)


@quick
@given(dtypes, keys)
def test_logistic_is_inside_the_unit_interval_in_its_dtype(dtype: str, key: str | bytes) -> None:
    x = fill({"kind": "logistic"}, (2000,), dtype, key)
    assert bool(((x > 0) & (x < 1)).all())


def test_sparse() -> None:
    x = fill({"kind": "sparse", "density": 0.25}, (40_000,), "float32", "k")
    z = fill(NORMAL, (40_000,), "float32", "k")
    assert abs(float((x != 0).double().mean()) - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 40_000)
    assert bool(((x == 0) | (x == z)).all())
    assert not bool(torch.signbit(x[x == 0]).any())
    assert fill({"kind": "sparse", "density": 0}, (100,), "float32", "k").count_nonzero() == 0


def test_ramp_and_constant() -> None:
    assert fill({"kind": "ramp"}, (3, 3), "float32", "k").flatten().tolist() == [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1]
    assert fill({"kind": "ramp", "low": 2, "high": 5}, (), "float32", "k").item() == 2
    assert fill({"kind": "constant", "value": 1e5}, (2,), "float16", "k").tolist() == [math.inf, math.inf]
    assert fill({"kind": "constant", "value": 1}, (2,), "bool", "k").tolist() == [True, True]


@quick
@given(st.integers(-20, 20), st.integers(0, 20), keys)
def test_integers_and_index(low: int, span: int, key: str | bytes) -> None:
    x = fill({"kind": "integers", "low": low, "high": low + span}, (400,), "float32", key)
    assert bool((x == x.round()).all())
    assert low <= int(x.min()) and int(x.max()) <= low + span
    assert len(x.unique()) <= span + 1
    i = fill({"kind": "index", "high": span + 1}, (400,), "float16", key)
    assert i.dtype == torch.int64
    assert torch.equal(i, x.long() - low)


def test_integers_and_signs_reach_every_value() -> None:
    assert fill({"kind": "integers", "low": -2, "high": 2}, (300,), "float16", "k").unique().tolist() == [-2, -1, 0, 1, 2]
    x = fill({"kind": "signs"}, (10_000,), "bfloat16", "k")
    assert x.unique().tolist() == [-1, 1]
    assert abs(float(x.float().mean())) < 0.05


@quick
@given(st.sampled_from([(64,), (5, 1), (3, 40, 2)]), st.integers(-1, 2), keys)
def test_unit(shape: tuple[int, ...], dim: int, key: str | bytes) -> None:
    dim = min(dim, len(shape) - 1)
    x = fill({"kind": "unit", "dim": dim}, shape, "float64", key)
    assert torch.allclose(x.norm(dim=dim), torch.ones((), dtype=torch.float64), rtol=1e-14)
    z = fill(NORMAL, shape, "float64", key)
    assert torch.equal(x.sign(), z.sign())


def test_unit_adds_its_squares_in_order() -> None:
    z = fill(NORMAL, (3, 1000), "float64", "k")
    total = [0.0] * 3
    for column in z.t().tolist():
        total = [t + v * v for t, v in zip(total, column, strict=True)]
    assert torch.equal(
        fill({"kind": "unit"}, (3, 1000), "float64", "k"), z / fills._sqrt(torch.tensor(total, dtype=torch.float64))[:, None]
    )


# --- probes designed for a fault


@quick
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 300)),
    st.booleans(),
    st.sampled_from(["float32", "float16", "bfloat16"]),
    st.randoms(use_true_random=False),
    keys,
)
def test_absorption_is_exact_in_any_order(shape: tuple[int, int], flip: bool, dtype: str, random: Any, key: str | bytes) -> None:
    dim = 0 if flip else 1
    x = fill({"kind": "absorption", "dim": dim}, shape[::-1] if flip else shape, dtype, key)
    for row in (x.t() if flip else x).double().tolist():
        if len(row) == 1:
            assert abs(row[0]) in (1, 3)
            continue
        assert row.count(32768) == row.count(-32768) == 1
        assert {abs(v) for v in row} <= {1, 3, 32768}
        order = random.sample(row, len(row))
        partial, single = 0.0, torch.zeros((), dtype=torch.float32)
        for value in order:
            partial += value
            single = single + torch.tensor(value, dtype=torch.float32)
            assert abs(partial) < 2**24
        assert single.item() == partial == sum(row)


def test_absorption_places_and_small_values_are_spread() -> None:
    x = fill({"kind": "absorption", "dim": 1}, (2000, 5), "float32", "k")
    places = torch.stack(((x == 32768).double().mean(0), (x == -32768).double().mean(0)))
    assert (places - 0.2).abs().max() < 0.05
    joint = torch.zeros(5, 5)
    joint.index_put_(((x == 32768).int().argmax(1), (x == -32768).int().argmax(1)), torch.tensor(1.0), accumulate=True)
    assert joint.diagonal().sum() == 0
    assert (joint[~torch.eye(5, dtype=torch.bool)] / 2000 - 0.05).abs().max() < 0.03
    small = x[x.abs() < 10]
    for value in (-3, -1, 1, 3):
        assert abs(float((small == value).double().mean()) - 0.25) < 0.03


def test_absorption_is_out_of_reach_for_narrow_accumulators() -> None:
    x = fill({"kind": "absorption", "dim": 1}, (32, 4096), "float16", "k")
    exact = x.double().sum(1)
    for dtype in (torch.float16, torch.bfloat16):
        total = torch.zeros(32, dtype=dtype)
        for column in x.to(dtype).t():
            total = total + column
        assert (total.double() != exact).float().mean() > 0.8


def test_cancellation() -> None:
    x = fill({"kind": "cancellation", "dim": 0, "magnitude": 256}, (9, 50), "float32", "k")
    z = fill(NORMAL, (9, 50), "float32", "k")
    assert (x == 256).sum(0).tolist() == (x == -256).sum(0).tolist() == [1] * 50
    assert bool(((x == z) | (x.abs() == 256)).all())


@quick
@given(st.integers(1, 23), st.sampled_from(["float32", "float64"]), keys)
def test_fraction_bits(bits: int, dtype: str, key: str | bytes) -> None:
    x = fill({"kind": "fraction", "bits": bits}, (200,), dtype, key).double()
    steps = x.abs() * 2**bits
    assert bool(((x.abs() >= 1) & (x.abs() < 2)).all())
    assert torch.equal(steps, steps.round())
    assert bool((steps % 2 == 1).all())
    assert x.sign().unique().tolist() == [-1, 1]


def test_fraction_uses_the_whole_dtype() -> None:
    x = fill({"kind": "fraction", "bits": 10}, (5000,), "float16", "k")
    assert len(x.abs().unique()) > 500
    assert float(x.abs().min()) == 1 + 2**-10
    assert float(x.abs().max()) == 2 - 2**-10


def test_eye() -> None:
    assert torch.equal(fill({"kind": "eye", "dims": [0, 1]}, (3, 4), "float32", "k"), torch.eye(3, 4))
    kernel = fill({"kind": "eye", "dims": [0, 1], "at": {"2": 1, "-1": 2}}, (2, 2, 3, 3), "float32", "k")
    expected = torch.zeros(2, 2, 3, 3)
    expected[[0, 1], [0, 1], 1, 2] = 1
    assert torch.equal(kernel, expected)


def test_alternating() -> None:
    x = fill({"kind": "alternating", "dim": 1}, (4, 101), "float64", "k")
    assert torch.equal(x.sign(), (1 - 2 * (torch.arange(101) % 2)).double().expand(4, 101))
    step = x.abs().diff(dim=1)
    assert bool((step >= 0).all())
    assert float(step.max()) < 0.01 + 1e-12
    assert float(x.abs().min()) >= 1 and float(x.abs().max()) < 3
    assert len(x[:, 0].unique()) == 4


def test_geometric() -> None:
    for dtype, (precision, _) in FLOATS.items():
        x = fill({"kind": "geometric", "dim": 0}, (120, 2), dtype, "k").double()
        assert x[:, 0].abs().tolist() == [2.0 ** -(i % (precision + 1)) for i in range(120)]
        assert x.sign().unique().tolist() == [-1, 1]
        assert not bool(subnormal(x.to(getattr(torch, dtype))).any())


@pytest.mark.parametrize("dtype", DTYPES)
def test_subnormal(dtype: str) -> None:
    x = fill({"kind": "subnormal"}, (4000,), dtype, "k")
    assert bool((subnormal(x) | (x == 0)).all())
    assert not bool(torch.signbit(x[x == 0]).any())
    zeros = float((x == 0).double().mean())
    assert 0.1 < zeros < 0.35
    assert bool((x > 0).any()) and bool((x < 0).any())
    form = FORMATS[dtype]
    least = x.double().abs()
    assert float(least.max()) > form.smallest_normal / 4
    assert 64 * form.smallest_subnormal <= float(least[least > 0].min()) <= 256 * form.smallest_subnormal


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(-7, 7), min_size=1, max_size=4),
    st.floats(0.01, 0.2),
    dtypes,
    st.sampled_from([1.0, 4.0]),
    keys,
)
def test_away(kinks: list[float], margin: float, dtype: str, gain: float, key: str | bytes) -> None:
    x = fill({"kind": "away", "kinks": kinks, "margin": margin, "gain": gain}, (500,), dtype, key).double()
    for kink in kinks:
        assert float((x - kink).abs().min()) >= margin
    z = gain * fill(NORMAL, (500,), "float64", key)
    far = torch.stack([(z - kink).abs() for kink in kinks]).min(0).values > 2 * margin + 0.1
    assert torch.equal(x[far], fills.round_to_dtype(z[far], dtype).double())


def test_away_without_a_margin() -> None:
    x = fill({"kind": "away", "kinks": [0.0], "margin": 0.0}, (50,), "float64", "k")
    assert torch.equal(x, fill(NORMAL, (50,), "float64", "k"))


# --- wrappers


def test_gain_and_shift() -> None:
    z = fill(NORMAL, (50,), "float64", "k")
    assert torch.equal(fill({"kind": "normal", "gain": 1e3, "shift": -2}, (50,), "float64", "k"), z * 1e3 - 2)
    ones = fill(
        {"kind": "poison", "base": {"kind": "constant", "value": 1}, "at": [[0]], "value": "max", "gain": 3}, (2,), "float16", "k"
    )
    assert ones.tolist() == [65504, 3]


def test_poison() -> None:
    recipe = {"kind": "poison", "base": NORMAL, "at": [[0, 1], [1, -1], [1, 0], [0, 0], [0, 2]]}
    base = fill(NORMAL, (2, 3), "float32", "k")
    x = fill({**recipe, "values": ["nan", "inf", "-inf", "-max", 7]}, (2, 3), "float32", "k")
    assert math.isnan(x[0, 1])
    assert x[1].tolist() == [-math.inf, base[1, 1].item(), math.inf]
    assert x[0, 0].item() == torch.finfo(torch.float32).min
    assert x[0, 2].item() == 7
    for dtype in DTYPES:
        largest = fill({"kind": "poison", "base": NORMAL, "at": [[]], "value": "max"}, (), dtype, "k")
        assert largest.item() == FORMATS[dtype].max
    with pytest.raises(ValueError):
        fill({**recipe, "values": ["nan"]}, (2, 3), "float32", "k")


@quick
@given(shapes, dtypes, st.integers(0, 1 << 30))
def test_problem_is_the_tensor_that_is_given(shape: tuple[int, ...], dtype: str, seed: int) -> None:
    given = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    before = given.clone()
    x = fill({"kind": "problem"}, shape, dtype, "k", given)
    assert same_bits(x, fill({"kind": "problem"}, shape, dtype, "another key", given))
    assert same_bits(x, fills.round_to_dtype(given, dtype)) and x.is_contiguous()
    x.zero_()
    assert torch.equal(given, before), "what is given is not written to"
    twice = fill({"kind": "problem", "gain": 2.0, "shift": 1.0}, shape, dtype, "k", given)
    assert same_bits(twice, fills.round_to_dtype(2 * given + 1, dtype))


def test_problem_under_other_recipes() -> None:
    given = torch.arange(12.0).reshape(3, 4)
    problem = {"kind": "problem"}
    x = fill({"kind": "poison", "base": problem, "at": [[0, 1]], "value": "nan"}, (3, 4), "float32", "k", given)
    assert math.isnan(x[0, 1]) and torch.equal(x[1:], given[1:])
    moved = fill({"kind": "permuted", "base": problem, "dim": 1, "perm": "p"}, (3, 4), "float32", "k", given)
    plain = fill({"kind": "permuted", "base": {"kind": "ramp", "low": 0, "high": 3}, "dim": 0, "perm": "p"}, (4,), "float32", "k")
    assert torch.equal(moved, given[:, plain.long()])
    assert torch.equal(fill(problem, (3, 4), "int64", "k", given.long()), given.long())


def test_problem_without_its_tensor_is_refused() -> None:
    with pytest.raises(ValueError, match=r"problem: a tensor of shape \[2, 2\] is wanted, found None"):
        fill({"kind": "problem"}, (2, 2), "float32", "k")
    with pytest.raises(ValueError, match=r"a tensor of shape \[2, 2\] is wanted, found \[2, 3\]"):
        fill({"kind": "permuted", "base": {"kind": "problem"}, "dim": 0, "perm": "p"}, (2, 2), "float32", "k", torch.zeros(2, 3))


@quick
@given(st.integers(0, 40), st.text(max_size=5), dtypes)
def test_permuted(length: int, perm: str, dtype: str) -> None:
    a = fill({"kind": "permuted", "base": NORMAL, "dim": 0, "perm": perm}, (length, 3), dtype, "a")
    ramp = {"kind": "ramp", "low": 0, "high": max(length - 1, 0)}
    order = fill({"kind": "permuted", "base": ramp, "dim": -1, "perm": perm}, (length,), "float32", "b").round().long()
    assert sorted(order.tolist()) == list(range(length))
    assert same_bits(a, fill(NORMAL, (length, 3), dtype, "a")[order])


def test_permutations_differ_and_wrap_index() -> None:
    ramp = {"kind": "ramp", "low": 0, "high": 49}
    first, second = (fill({"kind": "permuted", "base": ramp, "dim": 0, "perm": perm}, (50,), "float32", "k") for perm in "pq")
    assert not torch.equal(first, second)
    x = fill({"kind": "permuted", "base": {"kind": "index", "high": 9}, "dim": 0, "perm": "p"}, (50,), "float32", "k")
    assert x.dtype == torch.int64
    assert torch.equal(x, fill({"kind": "index", "high": 9}, (50,), "float32", "k")[first.long()])
