"""Fills: tensors from recipes, the same bits everywhere.

This module imports the standard library and torch only: its source text is embedded in reproduction scripts.

Random bits are SHAKE-128 of (key, label, block number). Values are made in float64 with operations that IEEE 754 rounds correctly
(own ``sqrt``, ``log`` and ``exp``: torch's differ in the last bit between builds) and rounded once to the dtype, to nearest even.
So platform, torch version, threads and global random state do not matter, and the dtypes of a recipe are roundings of one tensor.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

FLOATS = {"float64": (53, -1022), "float32": (24, -126), "bfloat16": (8, -126), "float16": (11, -14)}  # precision, least exponent
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
KINDS: dict[str, dict[str, Any]] = {  # options with their defaults; ... marks a required one
    "normal": {"mean": 0.0, "std": 1.0},
    "uniform": {"low": 0.0, "high": 1.0},
    "positive": {"low": 0.5, "high": 2.0},  # uniform
    "log_decay": {"low": -1.0, "high": -0.01},  # uniform
    "lognormal": {"sigma": 1.0},
    "logistic": {},  # sigmoid of a normal; below 1 in the dtype too
    "constant": {"value": ...},
    "sparse": {"density": 0.1},  # normal with zeros
    "ramp": {"low": -1.0, "high": 1.0, "jitter": 0.0},  # linear in the flat index, moved by up to so many steps at random
    "integers": {"low": ..., "high": ...},  # inclusive
    "signs": {},  # +1 or -1
    "index": {"high": ...},  # [0, high), int64 whatever the dtype
    "unit": {"dim": -1},  # normal, L2 norm 1 along dim
    "absorption": {"dim": ..., "magnitude": 32768.0},  # per slice, in random order: M, -M (if length > 1), else 1, -1, 3 or -3
    "cancellation": {"dim": ..., "magnitude": 4096.0},  # the same with normals instead of the small integers
    "fraction": {"bits": 13},  # random sign, size in [1, 2) with exactly that many fraction bits, the lowest of them set
    "eye": {"dims": ..., "at": {}},  # 1 where index[a] == index[b] and index[k] == v for all k: v in at, else 0
    "alternating": {"dim": ...},  # signs alternate, sizes drift linearly
    "geometric": {"dim": ...},  # random sign times 2^-(i mod (p + 1)), p the precision of the dtype
    "subnormal": {},  # subnormals of the dtype, from 64 units on, of both signs; at least one in eight is zero
    "away": {"kinks": ..., "margin": 0.05},  # normal, moved until it is margin away from every kink
    "poison": {"base": ..., "at": ..., "value": None, "values": None},  # base, there with nan, inf, -inf, max, -max or a number
    "permuted": {"base": ..., "dim": ..., "perm": ...},  # base along dim in an order made of key perm and length only
    "problem": {},  # what the problem's own get_inputs makes: the tensor that is given to fill
}  # all but index also take gain (multiplies) and shift (adds after gain); away and poison do their work on the result of these
BLOCK = 1 << 15  # words per SHAKE call, part of the definition of every stream; small enough for the cache
CPU64: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}


def fill(recipe: Mapping[str, Any], shape: Sequence[int], dtype: str, key: str | bytes, given: Tensor | None = None) -> Tensor:
    """The CPU tensor of a recipe; ValueError for an unknown kind, option or dtype, or a promise that the dtype cannot keep."""
    if dtype not in FLOATS and dtype not in INTEGERS:
        raise ValueError(f"unknown dtype {dtype!r}")
    values = _values(recipe, tuple(shape), dtype, key, given)
    while "base" in recipe:
        recipe = recipe["base"]
    return round_to_dtype(values, "int64" if recipe["kind"] == "index" else dtype)


def round_to_dtype(values: Tensor, dtype: str) -> Tensor:
    """Round float64 once, to nearest even (``Tensor.to`` rounds twice for a 16-bit dtype: it goes by way of float32)."""
    if dtype in INTEGERS:
        if not bool(torch.isfinite(values).all()):
            raise ValueError(f"non-finite value for dtype {dtype}")
        values = values.round()
    elif FLOATS[dtype][0] < 24:
        precision, least = FLOATS[dtype]
        exponents = values.double().view(torch.int64) & 0x7FF << 52  # as float64: 2^e, or infinity
        spacing = exponents.view(torch.float64).mul_(2.0 ** (1 - precision)).clamp_(2.0 ** (least - precision + 1), 2.0**1000)
        values = (values / spacing).round_().mul_(spacing)
    result: Tensor = values.to(getattr(torch, dtype))
    return result


def _values(recipe: Mapping[str, Any], shape: tuple[int, ...], dtype: str, key: str | bytes, given: Tensor | None) -> Tensor:
    kind, o = recipe.get("kind"), _options(recipe)
    size, (precision, least) = shape or (1,), FLOATS.get(dtype, (53, -1022))
    dim = _axis(o["dim"], shape) if "dim" in o else 0
    slices = (*size[:dim], 1, *size[dim + 1 :])

    def draw(function: Callable[[Tensor], Tensor], label: str = "value", shape: tuple[int, ...] = size) -> Tensor:
        return _draw(function, key, label, math.prod(shape)).view(shape)

    if kind in ("normal", "away"):
        x = draw(lambda w: _gauss(w).mul_(o.get("std", 1.0)).add_(o.get("mean", 0.0)))
    elif kind in ("uniform", "positive", "log_decay"):
        x = draw(lambda w: _unit(w).mul_(o["high"] - o["low"]).add_(o["low"]))
    elif kind in ("lognormal", "logistic"):
        x = draw(lambda w: _exp(_gauss(w).mul_(o.get("sigma", 1.0))))
        x = x if kind == "lognormal" else (x / (1 + x)).clamp(max=1 - 2.0**-precision)
    elif kind == "constant":
        x = torch.full(size, float(o["value"]), **CPU64)
    elif kind == "sparse":
        x = draw(_gauss) * (draw(_unit, "mask") < o["density"]) + 0.0
    elif kind == "ramp":
        flat = torch.arange(math.prod(size), **CPU64).view(size)
        moved = flat + o["jitter"] * draw(_unit) if o["jitter"] else flat
        x = o["low"] + (o["high"] - o["low"]) * (moved / max(flat.numel() - 1, 1))
    elif kind in ("integers", "index"):
        low, high = (o["low"], o["high"]) if kind == "integers" else (0, o["high"] - 1)
        if high < low and math.prod(size):
            raise ValueError(f"{kind}: no integer from {low} to {high}")
        x = draw(lambda w: (_unit(w) * (high - low + 1)).floor() + low)
    elif kind in ("signs", "geometric"):
        x = draw(_sign)
        x = x if kind == "signs" else x * _power(-(_along(size, dim) % (precision + 1)))
    elif kind == "unit":
        x = draw(_gauss)
        if x.numel():  # cumsum adds in order, where the order of sum depends on the processor
            x = x / _sqrt((x * x).cumsum(dim).select(dim, -1).unsqueeze(dim))
    elif kind in ("absorption", "cancellation"):
        top, length = torch.tensor(float(o["magnitude"]), **CPU64), size[dim]
        if kind == "absorption" and (round_to_dtype(top, dtype) != top or top % 1 or top.abs() + 3 * length >= 1 << 24):
            raise ValueError(f"absorption: magnitude {top:g} over length {length} is not exact in {dtype} with sums below 2^24")
        x = draw(_gauss if kind == "cancellation" else lambda w: _sign(w) * (1 + (w & 2)))
        if length > 1:
            plus = (draw(_unit, "plus", slices) * length).floor().long()
            minus = (draw(_unit, "minus", slices) * (length - 1)).floor().long()
            x.scatter_(dim, plus, float(top)).scatter_(dim, minus + (minus >= plus), -float(top))
    elif kind == "fraction":
        if not 1 <= o["bits"] < precision:
            raise ValueError(f"fraction: {dtype} has no {o['bits']} fraction bits")
        x = draw(lambda w: _sign(w) * (1 + ((_unit(w) * 2.0 ** (o["bits"] - 1)).floor() * 2 + 1) * 2.0 ** -o["bits"]))
    elif kind == "eye":
        x = torch.ones(size, **CPU64)
        if shape:
            x *= _along(size, _axis(o["dims"][0], shape)) == _along(size, _axis(o["dims"][1], shape))
            for k, v in o["at"].items():
                x *= _along(size, _axis(int(k), shape)) == v
    elif kind == "alternating":
        i = _along(size, dim)
        x = (1 - 2 * (i % 2)) * (1 + draw(_unit, "start", slices) + draw(_unit, "drift", slices) * i / max(size[dim], 1))
    elif kind == "subnormal":  # 7 random bits or more, in units of the least subnormal: a product rounds smaller ones away
        x = draw(lambda w: _sign(w) * ((1 + _unit(w)) * _power(6 + (w >> 4 & 127) % (precision - 7)) * ((w & 14) != 0)).floor())
        x = x * math.ldexp(1.0, least - precision + 1) + 0.0
    elif kind == "problem":
        if given is None or tuple(given.shape) != shape:
            raise ValueError(
                f"problem: a tensor of shape {list(shape)} is wanted, found {given if given is None else list(given.shape)}"
            )
        x = given.to(torch.float64).clone().view(size)
    else:
        x = _values(o["base"], shape, dtype, key, given).view(size)

    if "gain" in recipe or "shift" in recipe:
        x = x * recipe.get("gain", 1.0) + recipe.get("shift", 0.0)
    if kind == "permuted":
        x = x.index_select(dim, _draw(_unit, o["perm"], "perm", size[dim]).argsort(stable=True))
    elif kind == "poison":
        if (o["value"] is None) == (o["values"] is None):
            raise ValueError("poison: give the option 'value' or the option 'values'")
        for position, value in zip(o["at"], o["values"] or [o["value"]] * len(o["at"]), strict=True):
            if len(position) != len(shape):
                raise ValueError(f"poison: {list(position)} is no position in shape {list(shape)}")
            largest = {"max": 1, "-max": -1}.get(value)
            x[tuple(position) or 0] = largest * torch.finfo(getattr(torch, dtype)).max if largest else float(value)
    elif kind == "away":
        x = _away(x, o["kinks"], o["margin"], 2.0**-precision)
    return x.reshape(shape)


def _options(recipe: Mapping[str, Any]) -> dict[str, Any]:
    kind = recipe.get("kind")
    if kind not in KINDS:
        raise ValueError(f"unknown fill kind {kind!r}")
    given = {k: v for k, v in recipe.items() if k != "kind" and (k not in ("gain", "shift") or kind == "index")}
    options = {**KINDS[kind], **given}
    for name, value in options.items():
        if name not in KINDS[kind] or value is ...:
            raise ValueError(f"fill kind {kind!r} {'needs the' if value is ... else 'has no'} option {name!r}")
    return options


def _away(x: Tensor, kinks: Sequence[float], margin: float, roundoff: float) -> Tensor:
    merged: list[tuple[float, float]] = []
    for kink in sorted(kinks):
        keep = margin + 2 * roundoff * (abs(kink) + margin)  # so that rounding cannot bring it back inside
        low = merged.pop()[0] if merged and kink - keep <= merged[-1][1] else kink - keep
        merged.append((low, kink + keep))
    edges = [-math.inf, *(edge for interval in merged for edge in interval), math.inf]
    for j, (low, high) in enumerate(merged):  # mirror each half of the interval at its edge, into at most half of the room there
        half = (high - low) / 2 or 1.0
        left, right = min(1.0, (low - edges[2 * j]) / 2 / half), min(1.0, (edges[2 * j + 3] - high) / 2 / half)
        moved = torch.where(x < low + half, low - (x - low) * left, high + (high - x) * right)
        x = torch.where((x > low) & (x < high), moved, x)
    return x


def _axis(dim: int, shape: tuple[int, ...]) -> int:
    if shape and not -len(shape) <= dim < len(shape):
        raise ValueError(f"no dimension {dim} in shape {list(shape)}")
    return dim % max(len(shape), 1)


def _along(shape: tuple[int, ...], dim: int) -> Tensor:
    return torch.arange(shape[dim], device="cpu").view([-1 if d == dim else 1 for d in range(len(shape))])


def _draw(function: Callable[[Tensor], Tensor], key: str | bytes, label: str, count: int) -> Tensor:
    """``function`` of ``count`` random 64-bit words, block by block; it is given an even number of words."""
    result = torch.empty(count, **CPU64)
    key = key.encode() if isinstance(key, str) else key
    seed = len(key).to_bytes(8, "little") + key + label.encode()
    for number, start in enumerate(range(0, count, BLOCK)):
        length = min(BLOCK, count - start)
        digest = hashlib.shake_128(seed + number.to_bytes(8, "little")).digest(8 * (length + length % 2))
        result[start : start + length] = function(torch.frombuffer(bytearray(digest), dtype=torch.int64))[:length]
    return result


def _unit(words: Tensor) -> Tensor:
    return (words >> 11).bitwise_and_((1 << 53) - 1).double().mul_(2.0**-53)


def _sign(words: Tensor) -> Tensor:
    return (1 - (words & 1) * 2).double()


def _gauss(words: Tensor) -> Tensor:
    """Box-Muller: radii from one half of the words; from the other, angles in the right half-plane and bits that mirror them."""
    first, second = words.chunk(2)
    radius = _sqrt(_log(_unit(first).clamp_(min=2.0**-53)).mul_(-2))
    half = _unit(second).sub_(0.5).mul_(math.pi / 2)
    square = half * half
    sine = _horner(square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]).mul_(half)
    cosine = _horner(square, [(-1) ** k / math.factorial(2 * k) for k in range(9)])
    mirrored = (1 - 2 * sine * sine) * _sign(second)
    return torch.cat((mirrored * radius, 2 * sine * cosine * radius))


def _horner(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    result = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result.mul_(x).add_(coefficient)
    return result


def _power(exponent: Tensor) -> Tensor:
    """2.0 ** exponent for int64 exponents of normal numbers."""
    return (exponent + 1023 << 52).view(torch.float64)


def _sqrt(x: Tensor) -> Tensor:
    """Square root of positive normal x, to the last bit or the one before: half of the exponent, then Newton's iteration."""
    y = ((x.view(torch.int64) >> 1) + (1023 << 51)).view(torch.float64)
    for _ in range(4):
        y = (x / y).add_(y).mul_(0.5)
    return y


def _log(x: Tensor) -> Tensor:
    """Logarithm of positive normal x = m 2^e with m in [sqrt(1/2), sqrt(2)): e log(2) + 2 artanh((m - 1) / (m + 1))."""
    bits = x.view(torch.int64)
    exponent = (bits - 0x3FE6A09E667F3BCD) >> 52
    mantissa = (bits - (exponent << 52)).view(torch.float64)
    f = (mantissa - 1) / (mantissa + 1)
    return _horner(f * f, [2 / (2 * k + 1) for k in range(10)]).mul_(f).add_(exponent.double().mul_(math.log(2)))


def _exp(x: Tensor) -> Tensor:
    """Exponential of x within [-700, 700]: x = k log(2) + r, log(2) in two parts; 2^k times the Taylor series at r."""
    x = x.clamp(-700.0, 700.0)
    k = (x / math.log(2)).round()
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    return _horner(r, [1 / math.factorial(j) for j in range(15)]) * _power(k.long())
