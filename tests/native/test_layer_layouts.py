"""Descriptors against worked values, and where operands, accumulators and registers lie."""

from __future__ import annotations

import itertools

import pytest

from .layer_library import FORMATS, library

BASE, SW128, SW64, SW32, NONE = 0x400, 0x40004000, 0x80004000, 0xC0004000, 0x00004000


def _descriptor(name: str, step: int, offset: int = 0, base: int = BASE) -> int:
    bits = library().raw.layer_descriptor(name.encode(), base, offset, step)
    assert bits, f"no operand {name}"
    return int(bits)


@pytest.mark.parametrize(
    ("name", "leading", "stride", "steps", "high"),
    [
        ("bf16 K B128 128x64", 0, 1024, [0, 2, 4, 6], SW128),
        ("bf16 K B128 64x64", 0, 1024, [0, 2, 4, 6], SW128),
        ("bf16 K B128 128x128", 0, 1024, [0, 2, 4, 6, 1024, 1026, 1028, 1030], SW128),
        ("tf32 K B128 128x64", 0, 1024, [0, 2, 4, 6, 1024, 1026, 1028, 1030], SW128),
        ("tf32 K B128 64x64", 0, 1024, [0, 2, 4, 6, 512, 514, 516, 518], SW128),
        ("bf16 K B64 128x64", 0, 512, [0, 2, 512, 514], SW64),
        ("bf16 K B64 64x64", 0, 512, [0, 2, 256, 258], SW64),
        ("bf16 K B32 128x64", 0, 256, [0, 256, 512, 768], SW32),
        ("bf16 K B32 64x64", 0, 256, [0, 128, 256, 384], SW32),
        ("bf16 K NONE 128x64", 2048, 128, [0, 256, 512, 768], NONE),
        ("tf32 K NONE 128x32", 2048, 128, [0, 256, 512, 768], NONE),
        ("bf16 MN B128 64x128", 8192, 1024, [0, 128, 256, 384], SW128),
        ("bf16 MN B128 64x64", 0, 1024, [0, 128, 256, 384], SW128),
        ("fp16 MN B128 64x64", 0, 1024, [0, 128, 256, 384], SW128),
        ("bf16 MN B64 64x128", 4096, 512, [0, 64, 128, 192], SW64),
        ("bf16 MN B32 64x128", 2048, 256, [0, 32, 64, 96], SW32),
    ],
)
def test_operand_descriptors(name: str, leading: int, stride: int, steps: list[int], high: int) -> None:
    for step, units in enumerate(steps):
        bits = _descriptor(name, step)
        assert (bits & 0x3FFF) - BASE // 16 == units, step
        assert bits >> 16 & 0x3FFF == leading // 16
        assert bits >> 32 & 0x3FFF == stride // 16
        assert bits >> 32 & ~0x3FFF == high


def test_worked_example() -> None:
    """D (128 x 64) = A (128 x 64) B (64 x 64)^T in bfloat16: A at 0x400, B at 0x4400."""
    assert [_descriptor("bf16 K B128 128x64", k) for k in range(4)] == [0x4000404000000040 + 2 * k for k in range(4)]
    assert [_descriptor("bf16 K B128 64x64", k, 0x4000) for k in range(4)] == [0x4000404000000440 + 2 * k for k in range(4)]
    assert [_descriptor("bf16 MN B128 64x128", k) for k in range(4)] == [0x4000404002000040 + 0x80 * k for k in range(4)]
    address = library().address
    assert address(0x4000404000000042, False, 9, 4, 2) == 0x8B8
    assert address(0x4000404000000046, False, 5, 15, 2) == 0x6AE
    assert address(0x4000404000010046, False, 5, 15, 2) == 0x6AE, "the leading stride of a swizzled K-major operand is not read"


@pytest.mark.parametrize(
    ("kind", "m", "a_mn", "b_mn", "bits"),
    [
        ("bf16", 128, 0, 0, 0x08100490),
        ("bf16", 128, 1, 0, 0x08108490),
        ("bf16", 128, 0, 1, 0x08110490),
        ("bf16", 128, 1, 1, 0x08118490),
        ("bf16", 64, 0, 0, 0x04100490),
        ("bf16", 64, 1, 1, 0x04118490),
        ("fp16", 128, 0, 0, 0x08100010),
        ("fp16", 128, 1, 0, 0x08108010),
        ("fp16", 128, 0, 1, 0x08110010),
        ("fp16", 64, 1, 1, 0x04118010),
        ("tf32", 128, 0, 0, 0x08100910),
        ("tf32", 64, 0, 0, 0x04100910),
    ],
)
def test_instruction_descriptors(kind: str, m: int, a_mn: int, b_mn: int, bits: int) -> None:
    make = library().raw.layer_instruction
    assert make(FORMATS[kind], m, 64, a_mn, b_mn, 0, 0) == bits
    assert make(FORMATS[kind], m, 64, a_mn, b_mn, 1, 0) == bits | 1 << 13
    assert make(FORMATS[kind], m, 64, a_mn, b_mn, 0, 1) == bits | 1 << 14


@pytest.mark.parametrize("code", [0, 1, 2, 4, 6])
@pytest.mark.parametrize("mn_major", [False, True])
def test_an_operand_has_no_two_elements_in_one_place(code: int, mn_major: bool) -> None:
    """64 x one K step of each swizzle: 16-byte pieces at distinct places, all inside the room that the strides span."""
    size, k = (4, 8) if code == 1 else (2, 16)
    bits = 0x40 | (1024 >> 4) << 16 | (8192 >> 4) << 32 | 1 << 46 | code << 61
    address = library().address
    places = {address(bits, mn_major, i, j, size) for i, j in itertools.product(range(64), range(k))}
    assert len(places) == 64 * k
    assert all(isinstance(place, int) and place % size == 0 for place in places)


def test_accumulator_lanes() -> None:
    lane = library().raw.layer_lane_of_row
    assert [lane(128, row, 0) for row in (0, 31, 32, 127)] == [0, 31, 32, 127]
    assert [lane(64, row, 0) for row in (0, 15, 16, 31, 32, 63)] == [0, 15, 32, 47, 64, 111]
    assert [lane(64, row, 16) for row in (0, 15, 16, 63)] == [16, 31, 48, 127]


SHAPES = {"32x32b": (0, 1), "16x64b": (1, 1), "16x128b": (2, 2), "16x256b": (3, 4), "16x32bx2": (4, 1)}


@pytest.mark.parametrize("shape", SHAPES)
def test_registers_and_cells(shape: str) -> None:
    """Each register of a warp has a cell of its own; together they fill lanes and columns without gaps."""
    number, unit = SHAPES[shape]
    count = 8 * unit
    cells = [library().cell(number, t, r, count) for t in range(32) for r in range(count)]
    lanes, columns = (32, count) if shape == "32x32b" else (16, 2 * count)
    assert sorted(cells) == sorted(itertools.product(range(lanes), range(columns)))


def test_registers_by_hand() -> None:
    cell = library().cell
    assert cell(0, 7, 3) == (7, 3)
    assert [cell(1, t, 1) for t in (0, 1, 2, 3, 4)] == [(0, 2), (8, 2), (0, 3), (8, 3), (1, 2)]
    assert [cell(2, 5, r) for r in (0, 1, 2, 3)] == [(1, 1), (9, 1), (1, 5), (9, 5)]
    assert [cell(3, 6, r) for r in (0, 1, 2, 3, 4)] == [(1, 4), (1, 5), (9, 4), (9, 5), (1, 12)]
    assert [cell(4, t, 2, 32) for t in (3, 19)] == [(3, 2), (3, 34)]


def test_refused_descriptors() -> None:
    address = library().address
    good = 0x4000404000000040
    for bits in (good | 1 << 49, good | 1 << 52, good | 1 << 53, good | 1 << 14, good & ~(1 << 46), good | 1 << 61, good + 8):
        assert address(bits, False, 0, 0, 2) == "descriptor-field", hex(bits)
