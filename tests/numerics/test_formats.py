from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kcbench.domain.observation import TensorRecord
from kcbench.numerics import formats
from kcbench.numerics.formats import (
    FORMATS,
    Format,
    classes,
    decode,
    dtype_name,
    encode,
    format_of,
    round_to,
    subnormal,
    torch_dtype,
    ulp,
)

NAMES = tuple(FORMATS)
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")

doubles = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])


def near(form: Format) -> st.SearchStrategy[float]:
    """Float64 values around the format's rounding boundaries: a multiple of half a spacing, and the float64 numbers beside it."""
    return st.builds(
        lambda sign, exponent, steps, nudge: sign * nudged(math.ldexp(steps, exponent), nudge),
        st.sampled_from([1.0, -1.0]),
        st.integers(form.min_exponent - form.precision, 1 - form.min_exponent - form.precision),
        st.integers(0, 2 ** min(form.precision + 1, 53)),
        st.sampled_from([0, 0, 1, -1]),
    )


def nudged(value: float, direction: int) -> float:
    return math.nextafter(value, math.inf * direction) if direction else value


def record(dtype: str, shape: tuple[int, ...], data: bytes) -> TensorRecord:
    return TensorRecord(dtype, shape, data)


def exact_round(value: float, form: Format) -> float:
    """Round to nearest even with rational arithmetic; the answer is a float64."""
    if not math.isfinite(value):
        return value
    exact = Fraction(abs(value))
    exponent = max(math.frexp(value)[1] - 1, form.min_exponent)
    assert exact < Fraction(2) ** (exponent + 1)
    quantum = Fraction(2) ** (exponent - form.precision + 1)
    rounded = round(exact / quantum) * quantum  # round() of a Fraction goes to even
    size = math.inf if rounded > Fraction(form.max) else float(rounded)
    return math.copysign(size, value)


@pytest.mark.parametrize("name", NAMES)
def test_constants_are_those_of_torch(name: str) -> None:
    form, info = FORMATS[name], torch.finfo(torch_dtype(name))
    assert form.max == info.max
    assert form.smallest_normal == info.smallest_normal
    assert 2 * form.u == info.eps
    least = torch.zeros((), dtype=torch_dtype(name)).view(formats._BITS[info.bits // 8]) + 1
    assert form.smallest_subnormal == least.view(torch_dtype(name)).double().item()


def test_constants_by_hand() -> None:
    assert [FORMATS[name].u for name in ("float32", "float16", "bfloat16", "float64")] == [2**-24, 2**-11, 2**-8, 2**-53]
    assert FORMATS["float16"].eta == 2.0**-25
    assert FORMATS["bfloat16"].eta == 2.0**-134
    assert FORMATS["float32"].eta == 2.0**-150
    assert FORMATS["float64"].eta == 0.0
    assert (FORMATS["float16"].max, FORMATS["float16"].smallest_normal) == (65504.0, 2.0**-14)


def test_names() -> None:
    for name in (*NAMES, *INTEGERS, "bool", "complex64", "float8_e4m3fn"):
        assert dtype_name(torch_dtype(name)) == name
    with pytest.raises(ValueError, match="float12"):
        torch_dtype("float12")
    with pytest.raises(ValueError, match="int8"):
        format_of("int8")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*NAMES, *INTEGERS, "complex64", "float8_e5m2"]), st.lists(st.integers(0, 4), max_size=3), st.data())
def test_bytes_survive_a_round_trip(name: str, shape: list[int], data: st.DataObject) -> None:
    size = math.prod(shape) * torch_dtype(name).itemsize
    raw = data.draw(st.binary(min_size=size, max_size=size))
    tensor = decode(record(name, tuple(shape), raw))
    assert (tensor.dtype, tuple(tensor.shape)) == (torch_dtype(name), tuple(shape))
    assert encode(tensor) == raw


def test_not_a_number_payloads_survive() -> None:
    for name, bits in (("float32", 0x7FA00001), ("float16", 0xFD55), ("bfloat16", 0x7F81), ("float64", 0xFFF4000000000003)):
        raw = bits.to_bytes(torch_dtype(name).itemsize, "little")
        tensor = decode(record(name, (), raw))
        assert bool(torch.isnan(tensor))
        assert encode(tensor) == raw


def test_encode_is_c_order_whatever_the_layout() -> None:
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    for view in (x.transpose(0, 2), x[:, ::2], x[1:], x.expand(5, 2, 3, 4), x[0, 0, 0], x.requires_grad_()[..., 1:3]):
        assert encode(view) == b"".join(struct.pack("<f", value) for value in view.detach().flatten().tolist())
    z = torch.tensor([1 + 2j, 3 - 4j])
    assert encode(z.conj()) == struct.pack("<4f", 1, -2, 3, 4)
    assert encode(z.conj().imag) == struct.pack("<2f", -2, 4)
    assert encode(torch.tensor([True, False])) == b"\1\0"
    assert encode(torch.empty(3, 0, 2)) == b""


def test_encode_refuses_what_has_no_plain_bytes() -> None:
    with pytest.raises(ValueError, match="sparse"):
        encode(torch.eye(2).to_sparse())
    with pytest.raises(ValueError, match="uint64"):
        encode(torch.zeros(1, dtype=torch.uint64))


def test_decode_owns_its_memory() -> None:
    raw = b"\0" * 8
    tensor = decode(record("float32", (2,), raw))
    tensor += 1
    assert raw == b"\0" * 8
    assert tensor.tolist() == [1, 1]


def test_decode_takes_any_true() -> None:
    tensor = decode(record("bool", (2, 2), b"\0\1\2\xff"))
    assert tensor.dtype == torch.bool
    assert tensor.tolist() == [[False, True], [True, True]]


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("float32", (2,), b"\0" * 7),
        ("float32", (), b""),
        ("float16", (0, 3), b"\0\0"),
        ("float32", (-1, -1), b"\0" * 4),
        ("float32", (2**40, 2**40), b""),
        ("float32", (0, 2**62, 2**62), b""),
        ("float32", (2**70, 0), b""),
        ("float32", (1.0,), b"\0" * 4),
        ("float32", ("1",), b"\0" * 4),
        ("object", (1,), b"\0" * 8),
    ],
)
def test_decode_refuses_what_does_not_fit(dtype: str, shape: tuple[int, ...], data: bytes) -> None:
    with pytest.raises(ValueError):
        decode(record(dtype, shape, data))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=120, deadline=None)
@given(st.data())
def test_round_to_is_the_exact_rounding(name: str, data: st.DataObject) -> None:
    form = FORMATS[name]
    values = data.draw(st.lists(st.one_of(near(form), doubles), min_size=1, max_size=8))
    rounded = round_to(torch.tensor(values, dtype=torch.float64), name).tolist()
    for value, got in zip(values, rounded, strict=True):
        expected = exact_round(value, form)
        assert struct.pack("<d", got) == struct.pack("<d", expected) or (math.isnan(got) and math.isnan(expected)), value.hex()


def test_rounding_once_where_float32_between_would_round_twice() -> None:
    # Just above halfway: float32 puts the first two on the tie, which then goes to even. The third is subnormal in both dtypes.
    cases = [
        ("bfloat16", 1 + 2**-8 + 2**-40, 1 + 2**-7),
        ("float16", 1 + 2**-11 + 2**-40, 1 + 2**-10),
        ("bfloat16", 2.0**-134 + 2.0**-170, 2.0**-133),
        ("float16", 65520 - 2**-20, 65504.0),
        ("float16", 65520.0, math.inf),
        ("bfloat16", 1 + 2**-8, 1.0),
        ("float16", -(2.0**-25), -0.0),
    ]
    for name, value, expected in cases:
        got = round_to(torch.tensor([value], dtype=torch.float64), name).item()
        assert got == expected
        assert math.copysign(1, got) == math.copysign(1, expected)
    twice = torch.tensor(cases[0][1], dtype=torch.float64).to(torch.bfloat16).item()
    assert twice == 1.0, "torch rounds once now: round_to_dtype could be a plain cast"


def test_round_to_by_hand() -> None:
    x = torch.tensor([1.0, 1 / 3, 1e39, -1e39, 1e-46, math.inf, math.nan], dtype=torch.float64)
    single = [struct.unpack("<f", struct.pack("<f", 1 / 3))[0]]
    assert round_to(x, "float32").tolist()[:6] == [1.0, *single, math.inf, -math.inf, 0.0, math.inf]
    assert round_to(x, "float64").tolist()[:6] == x.tolist()[:6]
    assert round_to(torch.empty(0, 2, dtype=torch.float64), "bfloat16").shape == (0, 2)
    with pytest.raises(ValueError, match="int32"):
        round_to(x, "int32")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_ulp_is_the_distance_to_the_next_number(name: str, data: st.DataObject) -> None:
    form = FORMATS[name]
    value = data.draw(near(form).filter(lambda v: abs(v) < form.max))
    got = ulp(torch.tensor([value], dtype=torch.float64), name).item()
    # The largest number of the format that is not above |value|, and the next one, are that far apart.
    below = math.floor(Fraction(abs(value)) / Fraction(got))
    assert below < 2**form.precision
    assert below >= 2 ** (form.precision - 1) or got == form.smallest_subnormal


def test_ulp_by_hand() -> None:
    x = torch.tensor([0.0, 1.0, -1.5, 2.0, 2.0**-14, 2.0**-15, 65504, 1e6, math.inf, math.nan], dtype=torch.float64)
    expected = [2.0**-24, 2.0**-10, 2.0**-10, 2.0**-9, 2.0**-24, 2.0**-24, 32.0, 32.0]
    assert ulp(x, "float16").tolist()[:-2] == expected
    assert bool(torch.isnan(ulp(x, "float16")[-2:]).all())
    assert ulp(torch.tensor([5e-324, 1.0], dtype=torch.float64), "float64").tolist() == [5e-324, 2.0**-52]


@given(st.lists(st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e-45]), max_size=9), st.sampled_from(NAMES))
@example([], "float16")
@settings(max_examples=50, deadline=None)
def test_classes(values: list[float], name: str) -> None:
    result = classes(torch.tensor(values, dtype=torch.float64).to(torch_dtype(name)))
    assert result.dtype == torch.int8
    assert result.tolist() == [1 if v != v else 2 if v == math.inf else 3 if v == -math.inf else 0 for v in values]


def test_classes_of_integers_and_scalars() -> None:
    assert classes(torch.tensor([1, 2])).tolist() == [0, 0]
    assert classes(torch.tensor(-math.inf)).item() == formats.NEGATIVE_INFINITY


@pytest.mark.parametrize("name", NAMES)
def test_subnormal(name: str) -> None:
    form = FORMATS[name]
    low, normal = form.smallest_subnormal, form.smallest_normal
    values = [0.0, -0.0, low, -low, normal - low, -(normal - low), normal, -normal, 1.0, math.inf, -math.inf, math.nan]
    x = torch.tensor(values, dtype=torch.float64).to(torch_dtype(name))
    assert subnormal(x).tolist() == [False] * 2 + [True] * 4 + [False] * 6
    assert subnormal(x.reshape(3, 4).t()).tolist() == subnormal(x).reshape(3, 4).t().tolist()
    assert subnormal(x[2]).item() is True
    with pytest.raises(ValueError, match="int64"):
        subnormal(torch.tensor([1]))
