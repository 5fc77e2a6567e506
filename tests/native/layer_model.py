"""The matrix unit's sum in exact integers, written independently of the emulator."""

from __future__ import annotations

NAN = 0x7FFFFFFF
SCALE = 700
"""Numbers are held as integers times 2**-SCALE: below the smallest product of two subnormals, cut to 25 bits."""

_FIELDS = {"fp16": (5, 10, 0), "bf16": (8, 7, 0), "tf32": (8, 10, 13)}
"""By format: exponent bits, fraction bits, stored bits that are not read."""


def operand(kind: str, bits: int) -> tuple[str, int, int]:
    """Class ("finite", "infinite", "nan"), value as an integer of scale 2**-SCALE/2, and the exponent that the unit gives it."""
    exponent_bits, fraction_bits, unread = _FIELDS[kind]
    bits >>= unread
    sign = -1 if bits >> (exponent_bits + fraction_bits) & 1 else 1
    field = bits >> fraction_bits & (2**exponent_bits - 1)
    fraction = bits % 2**fraction_bits
    bias = 2 ** (exponent_bits - 1) - 1
    if field == 2**exponent_bits - 1:
        return ("nan" if fraction else "infinite", sign, 0)
    exponent = max(field, 1) - bias
    mantissa = fraction + (2**fraction_bits if field else 0)
    return ("finite", sign * mantissa * 2 ** (exponent - fraction_bits + SCALE // 2), exponent)


def float_operand(bits: int) -> tuple[str, int, int]:
    """The same of a float32, at the full scale."""
    sign = -1 if bits >> 31 else 1
    field = bits >> 23 & 255
    fraction = bits & 0x7FFFFF
    if field == 255:
        return ("nan" if fraction else "infinite", sign, 0)
    exponent = max(field, 1) - 127
    return ("finite", sign * (fraction + (2**23 if field else 0)) * 2 ** (exponent - 23 + SCALE), exponent)


def toward_zero(value: int, unit: int) -> int:
    """The value cut to a multiple of unit."""
    return abs(value) // unit * unit * (1 if value >= 0 else -1)


def to_float32(value: int) -> int:
    """The bits of a float32, cut toward zero."""
    if value == 0:
        return 0
    sign = 0x80000000 if value < 0 else 0
    top = abs(value).bit_length() - 1 - SCALE
    if top > 127:
        return sign | 0x7F800000
    unit = 2 ** (max(top, -126) - 23 + SCALE)
    mantissa = abs(value) // unit
    if mantissa == 0:
        return 0
    return sign | (mantissa - 2**23 + (top + 127) * 2**23 if top >= -126 else mantissa)


def dot(kind: str, a: list[int], b: list[int], d: int) -> int:
    """The float32 bits of sum(a * b) + d as one instruction gives them; everything as bits."""
    terms: list[tuple[int, int]] = []
    infinities: set[int] = set()
    for x, y in zip(a, b, strict=True):
        (x_class, x_value, x_exponent), (y_class, y_value, y_exponent) = operand(kind, x), operand(kind, y)
        if "nan" in (x_class, y_class):
            return NAN
        if "infinite" in (x_class, y_class):
            if x_value == 0 or y_value == 0:
                return NAN
            infinities.add(1 if (x_value > 0) == (y_value > 0) else -1)
        elif x_value and y_value:
            terms.append((x_value * y_value, x_exponent + y_exponent))
    d_class, d_value, d_exponent = float_operand(d)
    if d_class == "nan":
        return NAN
    if d_class == "infinite":
        infinities.add(d_value)
    elif d_value:
        terms.append((d_value, d_exponent))
    if len(infinities) == 2:
        return NAN
    if infinities:
        return 0x7F800000 if infinities == {1} else 0xFF800000
    if not terms:
        return 0
    unit = 2 ** (max(exponent for _, exponent in terms) - 25 + SCALE)
    return to_float32(sum(toward_zero(value, unit) for value, _ in terms))
