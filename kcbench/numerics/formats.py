"""Floating-point formats: their constants, and tensors as bytes, roundings, spacings and classes."""

from __future__ import annotations

import ctypes
import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kcbench.domain.observation import TensorRecord
from kcbench.numerics.fills import FLOATS, round_to_dtype

FINITE, NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY = range(4)
"""What :func:`classes` returns."""


@dataclass(frozen=True)
class Format:
    """A binary floating-point format with round to nearest even."""

    name: str
    precision: int
    """Significand bits, the hidden one included."""
    min_exponent: int
    """Exponent of the smallest normal number."""
    max: float
    """Largest finite number."""

    @property
    def u(self) -> float:
        """Unit roundoff: the largest relative error of a rounding without underflow, half of the spacing above 1."""
        return math.ldexp(1.0, -self.precision)

    @property
    def smallest_normal(self) -> float:
        """Smallest positive normal number."""
        return math.ldexp(1.0, self.min_exponent)

    @property
    def smallest_subnormal(self) -> float:
        """Smallest positive number, which is the spacing below :attr:`smallest_normal`."""
        return math.ldexp(1.0, self.min_exponent - self.precision + 1)

    @property
    def eta(self) -> float:
        """Largest absolute error of a rounding with gradual underflow: half of the spacing (0.0 for float64)."""
        return self.smallest_subnormal / 2


def _format(name: str, precision: int, min_exponent: int) -> Format:
    largest = math.ldexp(2.0 - math.ldexp(1.0, 1 - precision), 1 - min_exponent)
    return Format(name, precision, min_exponent, largest)


FORMATS: dict[str, Format] = {name: _format(name, *spec) for name, spec in FLOATS.items()}
"""By dtype name: ``float64``, ``float32``, ``bfloat16``, ``float16``."""

_DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64,
        torch.float32,
        torch.bfloat16,
        torch.float16,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.complex128,
        torch.complex64,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )
}
_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def format_of(dtype: str) -> Format:
    """The format of a floating dtype name; ValueError for any other name."""
    try:
        return FORMATS[dtype]
    except KeyError:
        raise ValueError(f"{dtype!r} is not a floating dtype that has a contract; known are {', '.join(FORMATS)}") from None


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of a name such as ``bfloat16``; ValueError for an unknown name."""
    try:
        return _DTYPES[name]
    except KeyError:
        raise ValueError(f"unknown dtype {name!r}") from None


def dtype_name(dtype: torch.dtype) -> str:
    """The name of a torch dtype, without ``torch.``."""
    return str(dtype).removeprefix("torch.")


def encode(tensor: Tensor) -> bytes:
    """The elements' bytes in C order, little-endian, every bit as it is (NaN payloads too).

    Raises:
        ValueError: the tensor is sparse or of a dtype that has no name here.
    """
    if tensor.layout != torch.strided:
        raise ValueError(f"cannot encode a tensor of layout {tensor.layout}")
    torch_dtype(dtype_name(tensor.dtype))
    # Conjugation and negation may be pending as flags on a view whose memory still holds the old values.
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return ctypes.string_at(plain.data_ptr(), plain.nbytes) if plain.numel() else b""


def decode(record: TensorRecord) -> Tensor:
    """The CPU tensor of a record, in memory of its own, bit for bit; bytes of a ``bool`` other than 0 count as true.

    Raises:
        ValueError: unknown dtype, impossible shape, or data of another length: records come from workers that are not trusted.
    """
    dtype = torch_dtype(record.dtype)
    try:
        expected = torch.empty(record.shape, dtype=dtype, device="meta").nbytes
    except (RuntimeError, TypeError, OverflowError) as error:
        raise ValueError(f"impossible shape {list(record.shape)}") from error
    if len(record.data) != expected:
        raise ValueError(f"{len(record.data)} bytes for {record.dtype} of shape {list(record.shape)}, which takes {expected}")
    if not expected:
        return torch.empty(record.shape, dtype=dtype)
    flat = torch.frombuffer(bytearray(record.data), dtype=torch.uint8)
    values = flat != 0 if dtype == torch.bool else flat.view(dtype)
    return values.reshape(record.shape)


def flat(record: TensorRecord, elements: int) -> Iterator[Tensor]:
    """The values of a record in C order, so many at a time; nothing for an empty one.

    Args:
        record: The record.
        elements: Most elements of a piece.

    Raises:
        ValueError: As :func:`decode`.
    """
    step = torch_dtype(record.dtype).itemsize
    if math.prod(record.shape) * step != len(record.data):
        raise ValueError(f"{len(record.data)} bytes for {record.dtype} of shape {list(record.shape)}")
    data = memoryview(record.data)
    for start in range(0, len(data), elements * step):
        piece = bytes(data[start : start + elements * step])
        yield decode(dataclasses.replace(record, shape=(len(piece) // step,), data=piece))


def round_to(x64: Tensor, dtype: str) -> Tensor:
    """Round float64 values to a floating dtype once, to nearest even with overflow to infinity, and return them as float64."""
    return round_to_dtype(x64, format_of(dtype).name).to(torch.float64)


def ulp(x64: Tensor, dtype: str) -> Tensor:
    """Spacing of the dtype's numbers at ``|x|`` and just above, as float64.

    It is the subnormal spacing at and near 0, stays as it is beyond the largest finite number, and is NaN where x is not finite.
    """
    form = format_of(dtype)
    spacings = [math.ldexp(1.0, e - form.precision + 1) for e in range(form.min_exponent, 2 - form.min_exponent)]
    exponent = torch.frexp(x64)[1].to(torch.int64) - 1
    exponent = torch.where(x64 == 0, form.min_exponent, exponent).clamp(form.min_exponent, 1 - form.min_exponent)
    values = torch.tensor(spacings, dtype=torch.float64)[exponent - form.min_exponent]
    return torch.where(torch.isfinite(x64), values, math.nan)


def classes(x: Tensor) -> Tensor:
    """Class of every element as int8: 0 finite, 1 NaN, 2 positive infinity, 3 negative infinity."""
    result = torch.zeros(x.shape, dtype=torch.int8)
    if bool(torch.isfinite(x).all()):
        return result
    result[torch.isnan(x)] = NAN
    result[x == math.inf] = POSITIVE_INFINITY
    result[x == -math.inf] = NEGATIVE_INFINITY
    return result


def subnormal(x: Tensor) -> Tensor:
    """Mask of the elements that are subnormal in the tensor's own floating dtype.

    It looks at the bits, because a comparison may itself treat subnormals as zero.
    """
    form = format_of(dtype_name(x.dtype))
    bits = x.contiguous().view(_BITS[x.dtype.itemsize])
    fraction = (1 << form.precision - 1) - 1
    magnitude = bits & torch.iinfo(bits.dtype).max
    return (magnitude != 0) & (magnitude <= fraction)
