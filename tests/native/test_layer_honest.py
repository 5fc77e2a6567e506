"""Kernels without a fault run clean and give one exact result under every schedule."""

from __future__ import annotations

import re

import numpy as np
import pytest

from .layer_library import HERE, library

SCHEDULES = [("eager", 0), ("late", 0), ("random", 1), ("random", 2), ("random", 3)]
PRODUCTS = re.findall(r"CASE\((product_\w+)\)", (HERE / "honest.inc").read_text(encoding="utf-8"))


def _integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small integers: every sum of products is exact, so that only layouts and order can be wrong."""
    return rng.integers(-8, 9, shape).astype(np.float32)


def _everywhere(case: str, a: np.ndarray, b: np.ndarray, expected: np.ndarray) -> None:
    for schedule, seed in SCHEDULES:
        outcome, out = library().run(case, schedule, seed, a, b, expected.size)
        assert outcome.trap == "none", (schedule, seed, outcome)
        assert np.array_equal(out[: expected.size].reshape(expected.shape), expected), (schedule, seed)


@pytest.mark.parametrize("case", PRODUCTS)
def test_products(case: str) -> None:
    _, _, m, n, k, stored = case.split("_")
    rng = np.random.default_rng(int(m) + int(n))
    a, b = _integers(rng, int(m), int(k)), _integers(rng, int(k), int(n))
    _everywhere(case, a if stored[0] == "r" else a.T, b.T if stored[1] == "r" else b, a @ b)


def test_products_cover_formats_and_layouts() -> None:
    assert {case.split("_")[1] for case in PRODUCTS} == {"bf16", "fp16", "tf32"}
    assert {case.split("_")[-1] for case in PRODUCTS} == {"rr", "rc", "cr", "cc"}


@pytest.mark.parametrize(
    ("case", "m"), [("chained_bf16_64_half_0", 64), ("chained_bf16_64_half_1", 64), ("chained_fp16_128", 128)]
)
def test_a_product_feeds_the_next_in_tensor_memory(case: str, m: int) -> None:
    rng = np.random.default_rng(m)
    a = rng.integers(-1, 2, (m, 64)).astype(np.float32)
    b = rng.integers(-1, 2, (64, 64)).astype(np.float32)
    between = a @ b.T
    assert abs(between).max() < 256, "exact in both formats"
    _everywhere(case, a, b, between @ b.T)


def test_tf32_operand_in_tensor_memory() -> None:
    rng = np.random.default_rng(5)
    a, b = _integers(rng, 64, 32), _integers(rng, 64, 32)
    _everywhere("chained_tf32_64", a, b, a @ b[:32].T)


def test_accumulation_signs_and_parts() -> None:
    rng = np.random.default_rng(6)
    a, b = _integers(rng, 64, 64), _integers(rng, 64, 64)
    expected = np.arange(64)[:, None] - 2 * np.arange(64)[None, :] + a @ b
    expected[:, :32] -= a[:, :32] @ b[:32, :32].T
    expected[:, 32:] -= a[:, 32:] @ b[32:, 32:].T
    _everywhere("accumulates_negates_and_takes_parts", a, b, expected.astype(np.float32))


def test_double_buffering() -> None:
    rng = np.random.default_rng(7)
    a, b = _integers(rng, 64, 32), _integers(rng, 64, 32)
    _everywhere("double_buffered", a, b, 15 * (a @ b.T))


def test_one_warp_waits_for_all() -> None:
    rng = np.random.default_rng(8)
    a, b = _integers(rng, 64, 64), _integers(rng, 64, 64)
    _everywhere("one_warp_waits", a, b, a @ b.T)


def test_two_warps_at_each_quarter() -> None:
    rng = np.random.default_rng(11)
    a, b = _integers(rng, 64, 64), _integers(rng, 64, 64)
    _everywhere("two_warpgroups", a, b, a @ b.T)


def test_load_shapes_agree() -> None:
    _everywhere("load_shapes", np.ones(1), np.ones(1), np.arange(128 * 32, dtype=np.float32).reshape(128, 32))


def test_warp_functions() -> None:
    sums = np.arange(128).reshape(4, 32).sum(1)
    _everywhere("warps_and_votes", np.ones(1), np.ones(1), np.repeat(sums, 32).astype(np.float32))


def test_shrinking_allocations() -> None:
    _everywhere("allocations_that_shrink", np.ones(1), np.ones(1), np.ones(128, np.float32))


def test_rounding_of_inexact_products_does_not_depend_on_the_schedule() -> None:
    rng = np.random.default_rng(9)
    a, b = (rng.standard_normal((64, 64)).astype(np.float32) for _ in "ab")
    runs = [library().run("product_bf16_64_64_64_rr", schedule, seed, a, b, 4096) for schedule, seed in SCHEDULES]
    assert {outcome.trap for outcome, _ in runs} == {"none"}
    assert len({out[:4096].tobytes() for _, out in runs}) == 1
    error = np.linalg.norm(runs[0][1][:4096].reshape(64, 64) - a @ b.T) / np.linalg.norm(a @ b.T)
    assert 1e-4 < error < 5e-3, "bfloat16 operands"


def test_statistics() -> None:
    outcome, _ = library().run("product_bf16_128_64_64_rr", a=np.ones(128 * 64), b=np.ones(64 * 64), results=128 * 64)
    assert (outcome.products, outcome.peak_columns) == (4, 256)


def test_the_kernels_that_are_compared_with_a_card() -> None:
    """By exact integers: d = A B + d0, and for 16-bit formats o = -d B^T by operand A in Tensor Memory."""
    rng = np.random.default_rng(10)
    lib = library()
    for index, name in enumerate(lib.check_names()):
        kind, sizes, _, a_stored, _, b_stored = name.replace(",", "").split()
        m, n, k = (int(size) for size in sizes.split("x"))
        a, b = (rng.integers(-1, 2, shape).astype(np.float32) for shape in ((m, k), (k, n)))
        d0 = rng.integers(-9, 10, (m, n)).astype(np.float32)
        d = a @ b + d0
        for schedule, seed in SCHEDULES[:3]:
            outcome, got_d, got_o = lib.check(
                index, schedule, seed, a if a_stored == "rows" else a.T, b.T if b_stored == "rows" else b, d0, m * k
            )
            assert outcome.trap == "none", (name, schedule, outcome)
            assert np.array_equal(got_d.reshape(m, n), d), name
            assert np.array_equal(got_o.reshape(m, k), 0 * d @ b.T if kind == "tf32" else -d @ b.T), name
    assert index == 7
