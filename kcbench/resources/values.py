"""What is known of a register while code is followed without running it.

A value is a tuple, or None where nothing is known:

- ``("number", n)``: a known number.
- ``("symbol", name, offset)``: the address of a variable.
- ``("memory", id, offset)``: an address in Tensor Memory, with the allocation that it lies in; its offset may be None.
- ``("mask", columns, id)``: a mask of allocated columns, as SASS frees them by.
- ``("same", ...)``: not known, but the same value wherever the same expression stands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Value = tuple[object, ...] | None

_WORD = 1 << 32
_LONG = 1 << 64
_DEEPEST = 5
"""Nesting of an expression that is kept apart; deeper ones are not known."""
_KEEPS_MEMORY = frozenset({"and", "or", "xor", "shr", "shl", "cvt", "cvta", "mov", "not", "sub", "mul", "div"})


def number(value: int) -> Value:
    """A known number."""
    return ("number", value)


def number_of(value: Value) -> int | None:
    """The number that a value is; None where it is not known to be one."""
    return value[1] if value is not None and value[0] == "number" and isinstance(value[1], int) else None


def same(*parts: object) -> Value:
    """An unknown value that is the same wherever these parts are; None if that is too intricate an expression to keep."""
    value = ("same", *parts)
    return value if _depth(value) <= _DEEPEST else None


def made(index: int) -> Value:
    """What a step makes, of which nothing else is known; the same until the step is executed again."""
    return ("same", _Made(index))


@dataclass(frozen=True, slots=True)
class _Made:
    index: int


@functools.lru_cache(maxsize=1 << 14)
def made_by(value: object) -> frozenset[int]:
    """The steps whose results an expression is made from."""
    if isinstance(value, _Made):
        return frozenset({value.index})
    return frozenset().union(*map(made_by, value)) if isinstance(value, tuple) else frozenset()


def join(left: Value, right: Value) -> Value:
    """What is known where two ways meet."""
    return left if left == right else None


def compute(op: str, args: Sequence[Value]) -> Value:
    """The result of an operation in PTX's words, such as ``add.s32``."""
    name, *suffixes = op.split(".")
    if name in ("mov", "cvta", "cvt") and args:
        # A conversion that narrows is of no concern: what is followed are small counters and addresses.
        return args[0]
    if "pred" in suffixes and name in ("and", "or", "xor") and len(args) == 2:
        return logic(name, args[0], args[1])
    if "pred" in suffixes and name == "not" and len(args) == 1:
        return opposite(args[0])
    found = [number_of(item) for item in args]
    if name == "setp":
        return _compare(suffixes, args)
    if name == "selp" and len(args) == 3:
        decided = found[2]
        return join(args[0], args[1]) if decided is None else args[0] if decided else args[1]
    signed, modulus = any(item in ("s32", "s64", "s16") for item in suffixes), _modulus(suffixes)
    if None not in found:
        known = [_signed(item, modulus) if signed else item % modulus for item in found if item is not None]
        result = _arithmetic(name, known, modulus, wide="wide" in suffixes)
        return None if result is None else number(result % (_LONG if "wide" in suffixes else modulus))
    return _symbolic(name, args, found)


def _modulus(suffixes: Sequence[str]) -> int:
    if "pred" in suffixes:
        return 2
    return _LONG if any(item.endswith("64") for item in suffixes) else _WORD


def _signed(value: int, modulus: int) -> int:
    value %= modulus
    return value - modulus if value >= modulus // 2 else value


_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b if 0 <= b < 64 else 0,
    "shr": lambda a, b: a >> min(b, 64) if b >= 0 else 0,
    "min": min,
    "max": max,
}


def _arithmetic(name: str, args: Sequence[int], modulus: int, *, wide: bool) -> int | None:
    if name in _BINARY and len(args) == 2:
        return _BINARY[name](args[0], args[1])
    if name == "mad" and len(args) == 3:
        return args[0] * args[1] + args[2]
    if name in ("div", "rem") and len(args) == 2 and args[1]:
        quotient = abs(args[0]) // abs(args[1]) * (1 if (args[0] < 0) == (args[1] < 0) else -1)
        return quotient if name == "div" else args[0] - quotient * args[1]
    if name == "not" and len(args) == 1:
        return modulus - 1 - args[0] % modulus
    if name == "neg" and len(args) == 1:
        return -args[0]
    return None


def _symbolic(name: str, args: Sequence[Value], found: Sequence[int | None]) -> Value:
    """An operation on something that is not a number."""
    for index, item in enumerate(args):
        if item is None or item[0] not in ("symbol", "memory", "mask"):
            continue
        others = [other for place, other in enumerate(found) if place != index]
        if item[0] == "mask":
            return item if name in ("not", "mov", "or", "and") else None
        if name in ("add", "or", "sub") and len(others) == 1 and (name != "sub" or index == 0):
            return _shifted(item, others[0], -1 if name == "sub" else 1)
        if item[0] == "memory":
            # Shifting ones by an address in units of 32 columns makes the mask of that many times 32 columns.
            if name == "shl" and index == 1 and others[0] is not None:
                return ("mask", 32 * others[0].bit_count(), item[1])
            return ("memory", item[1], None) if name in _KEEPS_MEMORY and index == 0 else None
        return None
    if any(item is None for item in args) or not args:
        return None
    return same(name, *args)


def _shifted(address: tuple[object, ...], by: int | None, sign: int) -> Value:
    offset = address[2]
    if isinstance(offset, int) and by is not None:
        return (*address[:2], offset + sign * by)
    return ("memory", address[1], None) if address[0] == "memory" else None


def _depth(value: object) -> int:
    return 1 + max((_depth(item) for item in value), default=0) if isinstance(value, tuple) else 0


_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
_AS_LESS = {"lt": (False, True), "ge": (False, False), "gt": (True, True), "le": (True, False)}
"""A comparison as "less than": whether its sides are exchanged, and whether it says so or the opposite."""
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _compare(suffixes: Sequence[str], args: Sequence[Value]) -> Value:
    """``setp.lt.u32 a, b``, or ``setp.lt.and.u32 a, b, c`` with a predicate to combine with."""
    relation = suffixes[0] if suffixes else ""
    if relation not in _COMPARED or len(args) < 2 or any(item.startswith(("f", "bf")) for item in suffixes):
        return None
    left, right = number_of(args[0]), number_of(args[1])
    if left is not None and right is not None:
        modulus = _modulus(suffixes)
        if any(item in ("s32", "s64", "s16") for item in suffixes):
            left, right = _signed(left, modulus), _signed(right, modulus)
        else:
            left, right = left % modulus, right % modulus
        result: Value = number(int(_COMPARED[relation](left, right)))
    elif args[0] is None or args[1] is None:
        result = None
    else:
        result = _unknown_comparison(_UNSIGNED.get(relation, relation), suffixes[-1], args[0], args[1])
    combine = next((item for item in suffixes[1:] if item in ("and", "or", "xor")), "")
    return logic(combine, result, args[2]) if combine and len(args) > 2 else result


def _unknown_comparison(relation: str, kind: str, left: Value, right: Value) -> Value:
    """A comparison in one form for all the ways in which it can be written."""
    if relation in ("eq", "ne"):
        first, second = sorted((left, right), key=repr)
        result, positive = same("equal", first, second), relation == "eq"
    else:
        exchanged, positive = _AS_LESS[relation]
        first, second = (right, left) if exchanged else (left, right)
        result = same("less", kind, first, second)
    return result if positive else opposite(result)


def opposite(value: Value) -> Value:
    """The negation of a predicate."""
    known = number_of(value)
    if known is not None:
        return number(int(not known))
    if value is None or value[0] != "same":
        return None
    inner = value[2] if value[1] == "no" else None
    return inner if isinstance(inner, tuple) else same("no", value)


def logic(name: str, left: Value, right: Value) -> Value:
    """``and``, ``or`` or ``xor`` of two predicates."""
    known, other = number_of(left), right
    if known is None:
        known, other = number_of(right), left
    if known is not None:
        if name == "and":
            return other if known else number(0)
        if name == "or":
            return number(1) if known else other
        return opposite(other) if known else other
    if left is None or right is None:
        return None
    return same(name, left, right)


def condition(value: Value) -> tuple[Value, bool]:
    """A predicate as what it is about and whether it is that or its negation."""
    if value is not None and value[:2] == ("same", "no") and isinstance(value[2], tuple):
        return value[2], False
    return value, True
