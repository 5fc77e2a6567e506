from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.numerics.bounds import classic, closed_form, gamma, lambda_factor
from kcbench.numerics.fills import fill
from kcbench.numerics.formats import FORMATS, round_to

U32 = 2.0**-24


def test_gamma() -> None:
    assert gamma(1, 0.25) == 0.25 / 0.75
    assert gamma(0, U32) == 0
    assert gamma(4, 0.25) == gamma(5, 0.25) == math.inf
    assert gamma(1000, U32) == pytest.approx(1000 * U32, rel=1e-4)


def test_lambda_factor() -> None:
    assert [round(lambda_factor(n, m), 1) for n, m in ((64, 10**4), (4096, 10**6), (65536, 10**8))] == [8.3, 9.3, 10.1]
    assert lambda_factor(1, 1, delta=2 / math.e**2) == pytest.approx(2)
    assert lambda_factor(0, 0) == lambda_factor(1, 1)


def test_closed_form_by_hand() -> None:
    y, b = (torch.tensor([v], dtype=torch.float64) for v in (-3.0, 5.0))
    # N = 1: gamma_1 is the smaller.
    c = U32 / (1 - U32)
    tau = closed_form(y, b, length=1, outputs=1, dtype="float32", regime="ieee")
    assert tau.item() == pytest.approx(3 * U32 + (1 + U32) * c * 5 + 2.0**-150, rel=1e-15)
    # N = 4096, M = 1: the probabilistic bound, with 256 blocks of 16.
    c = math.sqrt(2 * math.log(2 * 4096 / 1e-9)) * 64 * U32 + 2 * U32 * 256
    tau = closed_form(y, b, length=4096, outputs=1, dtype="float32", regime="ieee")
    assert tau.item() == pytest.approx(3 * U32 + (1 + U32) * c * 5, rel=1e-14)
    tau = closed_form(y, b, length=4096, outputs=1, dtype="float32", regime="tf32")
    assert tau.item() == pytest.approx(3 * U32 + (1 + U32) * (c + 2 * 2**-10 + 2**-20) * 5, rel=1e-14)
    tau = closed_form(y, b, length=4096, outputs=1, dtype="bfloat16", regime="tf32")
    assert tau.item() == pytest.approx(3 * 2**-8 + (1 + 2**-8) * c * 5, rel=1e-14)
    tau = closed_form(y * 0, b * 0, length=4096, outputs=1, dtype="float16", regime="ieee")
    assert tau.item() == 2.0**-25
    tau = closed_form(y, b, length=2, outputs=1, dtype="float64", regime="tf32")
    assert tau.item() == pytest.approx(3 * 2**-53 + 5 * 2 * 2**-53, rel=1e-14)
    with pytest.raises(ValueError, match="fp8"):
        closed_form(y, b, length=1, outputs=1, dtype="float32", regime="fp8")
    with pytest.raises(ValueError, match="int8"):
        closed_form(y, b, length=1, outputs=1, dtype="int8", regime="ieee")


def test_closed_form_of_empty_sums_and_tensors() -> None:
    zero = torch.zeros(2, dtype=torch.float64)
    assert closed_form(zero, zero, length=0, outputs=2, dtype="float32", regime="ieee").tolist() == [2.0**-150] * 2
    none = torch.zeros(0, 3, dtype=torch.float64)
    assert closed_form(none, none, length=4, outputs=0, dtype="float32", regime="ieee").shape == (0, 3)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 100_000), st.integers(1, 10**8), st.sampled_from(sorted(FORMATS)))
def test_the_bound_grows_with_everything(length: int, outputs: int, dtype: str) -> None:
    y = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    b = torch.tensor([1.0, 1.0, 2.0], dtype=torch.float64)

    def tau(n: int, m: int, regime: str = "ieee") -> torch.Tensor:
        return closed_form(y, b, length=n, outputs=m, dtype=dtype, regime=regime)

    assert bool((tau(length, outputs) > 0).all())
    assert bool((tau(length, outputs).diff() > 0).all())
    assert bool((tau(2 * length, outputs) >= tau(length, outputs)).all())
    assert bool((tau(length, 2 * outputs) >= tau(length, outputs)).all())
    assert bool((tau(length, outputs, "tf32") >= tau(length, outputs)).all())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "recipe", [{"kind": "normal"}, {"kind": "uniform"}, {"kind": "cancellation", "dim": 1}], ids=lambda r: r["kind"]
)
def test_honest_sums_stay_inside_and_half_precision_sums_do_not(dtype: str, recipe: dict[str, object]) -> None:
    a, b = (fill(recipe, (64, 1024), dtype, key) for key in ("a", "b"))
    y = (a.double() * b.double()).sum(1)
    magnitude = (a.double() * b.double()).abs().sum(1)
    tau = closed_form(y, magnitude, length=1024, outputs=64, dtype=dtype, regime="ieee")
    products = a.float() * b.float()
    sequential, reverse = (torch.zeros(64) for _ in range(2))
    for k in range(1024):
        sequential += products[:, k]
        reverse += products[:, 1023 - k]
    for honest in (sequential, reverse, products.sum(1)):
        error = (round_to(honest.double(), dtype) - y).abs()
        assert float((error / tau).max()) <= 1
    if dtype == "float32":
        narrow = (a.bfloat16().float() * b.bfloat16().float()).sum(1)
        assert float(((narrow.double() - y).abs() / tau).max()) > 1


def test_tf32_inputs_need_the_tf32_regime() -> None:
    a, b = (fill({"kind": "normal"}, (64, 512), "float32", key) for key in ("a", "b"))
    cut_a, cut_b = ((x.view(torch.int32) & ~0x1FFF).view(torch.float32).double() for x in (a, b))
    y = (a.double() * b.double()).sum(1)
    magnitude = (a.double() * b.double()).abs().sum(1)
    error = ((cut_a * cut_b).sum(1) - y).abs()
    for regime, inside in (("tf32", True), ("ieee", False)):
        tau = closed_form(y, magnitude, length=512, outputs=64, dtype="float32", regime=regime)
        assert (float((error / tau).max()) <= 1) is inside


def test_classic() -> None:
    y = torch.tensor([0.1, -2.0, math.inf, math.nan], dtype=torch.float64)
    assert classic(y, dtype="float32", length=64).tolist() == [4 * 2**-23 * 8 * 2.0] * 4
    assert classic(y[:1], dtype="bfloat16", length=4).tolist() == [4 * 2**-7 * 2]
    assert classic(y[:0], dtype="float16", length=4).shape == (0,)
