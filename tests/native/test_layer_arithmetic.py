"""The emulated matrix unit against a model in exact integers, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from .layer_library import library
from .layer_model import dot, to_float32

DEPTH = {"bf16": 16, "fp16": 16, "tf32": 8}
WIDTH = {"bf16": 16, "fp16": 16, "tf32": 32}
FRACTION = {"bf16": 7, "fp16": 10, "tf32": 23}


def _close_exponents(kind: str, rng: np.random.Generator, shape: tuple[int, ...], spread: int) -> np.ndarray:
    """Random operands whose exponents lie within a range around 1: their products meet each other's last bits."""
    bias = 15 if kind == "fp16" else 127
    exponent = rng.integers(max(bias - spread, 0), min(bias + spread, 2 * bias) + 1, shape)
    fraction = rng.integers(0, 2 ** FRACTION[kind], shape)
    sign = rng.integers(0, 2, shape)
    return (sign << WIDTH[kind] - 1 | exponent << FRACTION[kind] | fraction).astype(np.uint32)


def _float_bits(rng: np.random.Generator, count: int, spread: int) -> np.ndarray:
    return (
        rng.integers(0, 2, count) << 31 | rng.integers(127 - spread, 128 + spread, count) << 23 | rng.integers(0, 2**23, count)
    ).astype(np.uint32)


def _agree(kind: str, a: np.ndarray, b: np.ndarray, d: np.ndarray) -> None:
    got = library().dots(kind, a, b, d)
    expected = [dot(kind, x, y, z) for x, y, z in zip(a.tolist(), b.tolist(), d.tolist(), strict=True)]
    wrong = [i for i, (x, y) in enumerate(zip(got.tolist(), expected, strict=True)) if x != y]
    assert not wrong, (kind, [hex(int(v)) for v in a[wrong[0]]], [hex(int(v)) for v in b[wrong[0]]], hex(int(d[wrong[0]])))


@pytest.mark.parametrize("kind", DEPTH)
@pytest.mark.parametrize("spread", [1, 4, 14, 40])
def test_products_of_close_exponents(kind: str, spread: int) -> None:
    rng = np.random.default_rng([spread, WIDTH[kind], FRACTION[kind]])
    a, b = (_close_exponents(kind, rng, (1500, DEPTH[kind]), spread) for _ in "ab")
    _agree(kind, a, b, _float_bits(rng, 1500, 2 * spread))


@pytest.mark.parametrize("kind", DEPTH)
def test_any_encodings(kind: str) -> None:
    """Every exponent, subnormals, zeros, infinities and NaN; half of the rows without the last two."""
    rng = np.random.default_rng([7, WIDTH[kind], FRACTION[kind]])
    a, b = (rng.integers(0, 2 ** WIDTH[kind], (3000, DEPTH[kind])) for _ in "ab")
    top = (2 ** (WIDTH[kind] - 1 - FRACTION[kind]) - 1) << FRACTION[kind]
    for x in (a[:1500], b[:1500]):
        x[(x & top) == top] ^= 1 << FRACTION[kind]
    _agree(kind, a.astype(np.uint32), b.astype(np.uint32), rng.integers(0, 2**32, 3000).astype(np.uint32))


@pytest.mark.parametrize("kind", DEPTH)
def test_tiny_values(kind: str) -> None:
    """Subnormal operands, products and results."""
    rng = np.random.default_rng([8, WIDTH[kind], FRACTION[kind]])
    least = rng.integers(0, 2 ** (FRACTION[kind] + 2), (1500, DEPTH[kind]))
    sign = rng.integers(0, 2, least.shape) << WIDTH[kind] - 1
    one = (15 if kind == "fp16" else 127) << FRACTION[kind]
    other = np.where(rng.random(least.shape) < 0.5, one, rng.integers(0, 2 ** (FRACTION[kind] + 3), least.shape))
    d = np.where(rng.random(1500) < 0.5, rng.integers(0, 2**24, 1500), 0)
    _agree(kind, (sign | least).astype(np.uint32), other.astype(np.uint32), d.astype(np.uint32))


@pytest.mark.parametrize("kind", DEPTH)
def test_overflow_is_infinite(kind: str) -> None:
    if kind == "fp16":
        largest, d = 0x7BFF, 0x7F7FFFFF
    else:
        largest, d = 0x7F7F << (16 if kind == "tf32" else 0), 0x7F7FFFFF
    one = (15 if kind == "fp16" else 127) << FRACTION[kind]
    a = np.full((2, DEPTH[kind]), largest, np.uint32)
    b = np.full((2, DEPTH[kind]), one, np.uint32)
    b[1] |= 1 << WIDTH[kind] - 1
    got = library().dots(kind, a, b, np.array([d, d | 0x80000000], np.uint32))
    if kind == "fp16":  # 16 * 65504 vanishes beside the largest float32
        assert got.tolist() == [0x7F7FFFFF, 0xFF7FFFFF]
    else:
        assert got.tolist() == [0x7F800000, 0xFF800000]


def test_by_hand() -> None:
    one, tiny, half_ulp = 0x3F80, 0x2E80, 0x3300  # bfloat16: 1, 2**-34, 2**-25
    lib = library()

    def sum_of(*pairs: tuple[int, int], d: int = 0) -> int:
        a, b = np.zeros((1, 16), np.uint32), np.zeros((1, 16), np.uint32)
        for i, (x, y) in enumerate(pairs):
            a[0, i], b[0, i] = x, y
        return int(lib.dots("bf16", a, b, np.array([d], np.uint32))[0])

    assert sum_of((one, one)) == 0x3F800000
    assert sum_of((one, one), (tiny, one)) == 0x3F800000, "2**-34 beside 1 is cut"
    assert sum_of((one, one), (half_ulp, one), (half_ulp, one)) == 0x3F800000, "two quarters of an ulp, cut at the end"
    assert sum_of(*[(one, one)], *[(half_ulp, one)] * 4) == 0x3F800001, "2**-25 is kept in the sum"
    assert sum_of(*[(one, one)], *[(half_ulp - 0x80, one)] * 15) == 0x3F800000, "2**-26 is not"
    assert sum_of((one, one), (one, one | 0x8000)) == 0, "an exact zero is positive"
    assert sum_of(d=0x80000000) == 0, "so is -0"
    assert sum_of((0x7F80, 0), d=0x3F800000) == 0x7FFFFFFF, "inf * 0"
    assert sum_of((0x7F80, one), (0xFF80, one)) == 0x7FFFFFFF, "inf - inf"
    assert sum_of((0x7F80, one), d=0xFF7FFFFF) == 0x7F800000
    assert sum_of((1, one)) == 0x00010000, "a subnormal bfloat16 is kept"


def test_tf32_operands_are_cut_not_rounded() -> None:
    a, b = np.zeros((1, 8), np.uint32), np.zeros((1, 8), np.uint32)
    b[0, 0] = 0x3F800000
    for bits, result in ((0x3F801FFF, 0x3F800000), (0x7F800001, 0x7F800000), (0x7F802000, 0x7FFFFFFF), (0x00001FFF, 0)):
        a[0, 0] = bits
        assert int(library().dots("tf32", a, b, np.zeros(1, np.uint32))[0]) == result, hex(bits)


@given(st.data(), st.sampled_from(sorted(DEPTH)))
def test_edges(data: st.DataObject, kind: str) -> None:
    """Operands on the borders of their classes."""
    fraction, width = FRACTION[kind], WIDTH[kind]
    bias = 2 ** (width - 2 - fraction) - 1
    magnitudes = [0, 1, 2**fraction - 1, 2**fraction, 2 ** (fraction + 1) - 1, bias << fraction, (bias << fraction) + 1]
    magnitudes += [
        (bias + 12) << fraction,
        (bias - 13) << fraction,
        (2 * bias << fraction) | 2**fraction - 1,
        (2 * bias + 1) << fraction,
    ]
    values = st.builds(lambda m, s: m | s << width - 1, st.sampled_from(magnitudes), st.integers(0, 1)) | st.integers(
        0, 2**width - 1
    )
    finite = st.sampled_from(magnitudes[:-1])
    row = st.lists(values, min_size=DEPTH[kind], max_size=DEPTH[kind]) | st.lists(
        finite, min_size=DEPTH[kind], max_size=DEPTH[kind]
    )
    words = st.sampled_from([0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000, 0x7F800001]) | st.integers(
        0, 2**32 - 1
    )
    a, b, d = data.draw(row), data.draw(row), data.draw(words)
    got = library().dots(kind, np.array([a]), np.array([b]), np.array([d]))
    assert int(got[0]) == dot(kind, a, b, d)


@pytest.mark.parametrize("kind", DEPTH)
@pytest.mark.parametrize("accumulate", [False, True])
def test_whole_tiles(kind: str, accumulate: bool) -> None:
    """The loop over a tile gives what single sums give, special values and ragged widths included."""
    rng = np.random.default_rng(WIDTH[kind])
    for n in (8, 24, 61):
        a = _close_exponents(kind, rng, (9, DEPTH[kind]), 9)
        b = _close_exponents(kind, rng, (DEPTH[kind], n), 9)
        d = _float_bits(rng, 9 * n, 12).reshape(9, n)
        if n == 24:
            a[3, 2] = 0x7F80 << (WIDTH[kind] - 16)
            b[5, 7] = 0
            d[8, 1] = 0x7FC00000
        got = library().multiply(kind, a, b, d, accumulate)
        for i in range(9):
            for j in range(n):
                assert got[i, j] == dot(kind, a[i].tolist(), b[:, j].tolist(), int(d[i, j]) if accumulate else 0)


def test_the_model_cuts_toward_zero() -> None:
    """The model's own last step against numpy, which rounds to nearest: never further from zero, never a whole unit off."""
    rng = np.random.default_rng(3)
    for bits in _float_bits(rng, 200, 100).tolist():
        value = np.uint32(bits).view(np.float32)
        numerator, denominator = float(value).as_integer_ratio()
        exact = numerator * 2**700 // denominator
        assert to_float32(exact) == bits
        assert to_float32(exact + (1 if exact > 0 else -1)) == bits


@pytest.mark.parametrize("name", ["bf16", "fp16", "tf32"])
def test_rounding_to_storage(name: str) -> None:
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 2**32, 20000, dtype=np.uint64).astype(np.uint32)
    ties = np.array(
        [0x3F808000, 0x3F818000, 0x3F801000, 0x3F803000, 0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001, 0x387FFFFF, 0x7F7FFFFF],
        np.uint32,
    )
    values = np.concatenate([bits, ties, ties | 0x80000000, np.arange(0x33000000, 0x39000000, 0x3331F, np.uint32)]).view(
        np.float32
    )
    values = values[~np.isnan(values)]
    round_ = getattr(library().raw, f"layer_round_{name}")
    got = np.array([round_(float(v)) for v in values], np.uint32)
    tensor = torch.from_numpy(values.copy())
    if name == "bf16":
        expected = tensor.to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    elif name == "fp16":
        expected = tensor.to(torch.float16).view(torch.int16).numpy().view(np.uint16)
    else:
        raw = values.view(np.uint32).astype(np.uint64)
        expected = np.where((raw & 0x7F800000) == 0x7F800000, raw, (raw + 0x1000) & 0xFFFFE000)
    assert (got == expected).all(), values[got != expected][:5]


def test_nan_and_widening() -> None:
    raw = library().raw
    nan = float("nan")
    assert [raw.layer_round_bf16(nan), raw.layer_round_fp16(nan), raw.layer_round_tf32(nan)] == [0x7FFF, 0x7FFF, 0x7FFFFFFF]
    every = np.arange(2**16, dtype=np.uint32).astype(np.uint16)
    halves = every.view(np.float16).astype(np.float32)
    got = np.array([raw.layer_widen_fp16(int(x)) for x in every], np.float32)
    assert np.array_equal(got, halves, equal_nan=True)
    assert raw.layer_widen_bf16(0x3FC0) == 1.5
