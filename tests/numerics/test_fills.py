"""Fills: streams that are pinned, and what holds for every kind."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given

from kcbench.numerics import fills
from kcbench.numerics.fills import KINDS, fill
from kcbench.numerics.formats import FORMATS, encode
from tests.numerics.recipes import DTYPES, EXAMPLES, NORMAL, RECIPES, dtypes, keys, quick, recipes, same_bits, shapes

# --- for every kind


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES) | {"problem"} == set(KINDS), "problem has none: what it draws is given to it"


def test_the_module_stands_alone() -> None:
    tree = ast.parse(Path(fills.__file__).read_text())
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            roots.add(str(node.module).split(".")[0])
    assert roots - {"torch"} <= sys.stdlib_module_names


def test_the_source_text_works_where_it_is_pasted() -> None:
    scope: dict[str, Any] = {}
    exec(compile(Path(fills.__file__).read_text(), "repro.py", "exec", dont_inherit=True), scope)
    assert same_bits(scope["fill"](NORMAL, (3, 5), "bfloat16", "k"), fill(NORMAL, (3, 5), "bfloat16", "k"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe["kind"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (0, 3), (2,), (5, 1), (1, 5), (2, 3, 4)], ids=str)
def test_shape_dtype_and_layout(recipe: dict[str, Any], shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        x = fill(recipe, shape, dtype, "k")
        assert x.shape == torch.Size(shape)
        assert x.dtype == (torch.int64 if recipe["kind"] == "index" else getattr(torch, dtype))
        assert x.is_contiguous()
        assert x.device.type == "cpu"
        assert bool(torch.isfinite(x).all())


@quick
@given(recipes, shapes, dtypes, keys)
def test_it_is_a_function_of_its_arguments(recipe: dict[str, Any], shape: tuple[int, ...], dtype: str, key: str | bytes) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = fill(recipe, shape, dtype, key)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(2)
    assert same_bits(first, fill(json.loads(json.dumps(recipe)), list(shape), dtype, key))


def test_threads_and_default_dtype_and_device_do_not_matter() -> None:
    for recipe in RECIPES:
        expected = fill(recipe, (300, 200), "float32", "k")
        threads = torch.get_num_threads()
        try:
            torch.set_num_threads(3)
            torch.set_default_dtype(torch.float64)
            torch.set_default_device("meta")
            assert same_bits(fill(recipe, (300, 200), "float32", "k"), expected), recipe
        finally:
            torch.set_default_device("cpu")
            torch.set_default_dtype(torch.float32)
            torch.set_num_threads(threads)


def test_text_and_bytes_are_the_same_key() -> None:
    assert same_bits(fill(NORMAL, (9,), "float32", "schlüssel"), fill(NORMAL, (9,), "float32", "schlüssel".encode()))


@quick
@given(keys, keys)
def test_other_keys_give_other_values(a: str | bytes, b: str | bytes) -> None:
    x, y = (fill(NORMAL, (64,), "float64", key) for key in (a, b))
    same_key = (a.encode() if isinstance(a, str) else a) == (b.encode() if isinstance(b, str) else b)
    assert bool((x == y).all()) == same_key
    assert bool((x == y).any()) == same_key


def test_streams_of_different_keys_and_blocks_are_uncorrelated() -> None:
    x = fill(NORMAL, (8, fills.BLOCK), "float64", "a")
    y = fill(NORMAL, (8, fills.BLOCK), "float64", "b")
    correlation = torch.corrcoef(torch.cat((x, y))) - torch.eye(16, dtype=torch.float64)
    assert correlation.abs().max() < 6 / math.sqrt(fills.BLOCK)
    half = fills.BLOCK // 2
    pairs = torch.corrcoef(torch.stack((x[0, :half], x[0, half:], x[0, :half] ** 2, x[0, half:] ** 2)))
    assert (pairs - torch.eye(4, dtype=torch.float64))[[0, 0, 1, 2], [1, 3, 2, 3]].abs().max() < 6 / math.sqrt(half)


@pytest.mark.parametrize("recipe", [r for r in RECIPES if r["kind"] not in ("geometric", "subnormal", "fraction")], ids=str)
def test_dtypes_are_roundings_of_the_same_values(recipe: dict[str, Any]) -> None:
    exact = fill(recipe, (40, 30), "float64", "k").double()
    for dtype in DTYPES:
        x = fill(recipe, (40, 30), dtype, "k").double()
        # away keeps its margin after rounding, so that the dtype moves values near the kinks
        slack = 5 if recipe["kind"] == "away" else 1
        assert bool(((x - exact).abs() <= slack * FORMATS[dtype].u * exact.abs().clamp(min=1.0)).all()), dtype


# SHA-256 over the bytes of every kind's example at shape (7, 33): a change here changes the inputs of every published run.
PINNED = "66f0540a79459093"


def stream_digest() -> str:
    digest = hashlib.sha256()
    for recipe in RECIPES:
        for dtype in ("float32", "bfloat16", "float64"):
            digest.update(encode(fill(recipe, (7, 33), dtype, "pinned")))
    return digest.hexdigest()[:16]


def test_the_streams_are_pinned() -> None:
    assert stream_digest() == PINNED


def test_the_streams_do_not_depend_on_the_processor() -> None:
    """Torch's code for processors without vector units gives the same bits; its own log, exp and sqrt would not."""
    root = str(Path(__file__).parents[2])
    code = (
        f"import sys; sys.path.insert(0, {root!r}); from tests.numerics.test_fills import stream_digest; print(stream_digest())"
    )
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == PINNED


@pytest.mark.parametrize(
    ("recipe", "named"),
    [
        ({"kind": "gaussian"}, "gaussian"),
        ({}, "None"),
        ({"kind": "normal", "sigma": 2}, "sigma"),
        ({"kind": "constant"}, "value"),
        ({"kind": "index", "high": 3, "gain": 2}, "gain"),
        ({"kind": "poison", "base": {"kind": "normal", "men": 0}, "at": [], "value": "nan"}, "men"),
        ({"kind": "poison", "base": NORMAL, "at": [[0, 0]]}, "value"),
        ({"kind": "poison", "base": NORMAL, "at": [[0, 0]], "value": 1.0, "values": [1.0]}, "value"),
        ({"kind": "poison", "base": NORMAL, "at": [[0]], "value": "nan"}, "position"),
        ({"kind": "absorption", "dim": 2}, "dimension 2"),
        ({"kind": "absorption", "dim": 0, "magnitude": 0.5}, "0.5"),
        ({"kind": "absorption", "dim": 0, "magnitude": 2**24}, "absorption"),
        ({"kind": "fraction", "bits": 0}, "0 fraction bits"),
        ({"kind": "index", "high": 0}, "index"),
        ({"kind": "integers", "low": 1, "high": 0}, "integers"),
    ],
    ids=str,
)
def test_bad_recipes_are_named(recipe: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        fill(recipe, (2, 2), "float32", "k")


def test_what_a_dtype_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="float128"):
        fill(NORMAL, (1,), "float128", "k")
    with pytest.raises(ValueError, match="bfloat16 has no 13"):
        fill({"kind": "fraction", "bits": 13}, (1,), "bfloat16", "k")
    with pytest.raises(ValueError, match="absorption"):
        fill({"kind": "absorption", "dim": 0, "magnitude": 32769}, (8,), "bfloat16", "k")
    with pytest.raises(ValueError, match="absorption"):
        fill({"kind": "absorption", "dim": 0, "magnitude": 65536}, (8,), "float16", "k")
    with pytest.raises(ValueError, match="int64"):
        fill({"kind": "constant", "value": math.nan}, (1,), "int64", "k")
    with pytest.raises(IndexError):
        fill({"kind": "poison", "base": NORMAL, "at": [[9]], "value": "nan"}, (2,), "float32", "k")


# --- the arithmetic underneath


def test_elementary_functions() -> None:
    unit = fills._unit(torch.arange(-(2**63), 2**63 - 1, 2**63 // 2000)).clamp(min=2.0**-53)
    unit = torch.cat((unit, torch.tensor([2.0**-53, 1 - 2.0**-53, 0.5, 1.0, math.sqrt(0.5)], dtype=torch.float64)))
    for value, log, root in zip(unit.tolist(), fills._log(unit).tolist(), fills._sqrt(unit).tolist(), strict=True):
        assert log == pytest.approx(math.log(value), rel=1e-15)
        assert root == pytest.approx(math.sqrt(value), rel=3e-16)
    wide = torch.linspace(-690, 690, 3001, dtype=torch.float64)
    for value, exp in zip(wide.tolist(), fills._exp(wide).tolist(), strict=True):
        assert exp == pytest.approx(math.exp(value), rel=1e-15)


def test_unit_words_are_53_bits_below_one() -> None:
    words = torch.tensor([0, -1, 1 << 11, (1 << 11) - 1, -(2**63)], dtype=torch.int64)
    assert fills._unit(words).tolist() == [0.0, 1 - 2.0**-53, 2.0**-53, 0.0, 0.5]


def test_gauss_survives_extreme_words() -> None:
    ends = torch.tensor([0, -1, -(2**63), 2**63 - 1], dtype=torch.int64)
    words = torch.cat((ends.repeat(4), ends.repeat_interleave(4)))
    z = fills._gauss(words)
    assert bool(torch.isfinite(z).all())
    assert 8.5 < float(z.abs().max()) < 8.6  # sqrt(2 * 53 log 2)
    assert torch.allclose(
        (z[:16] ** 2 + z[16:] ** 2).sqrt(), fills._sqrt(-2 * fills._log(fills._unit(words[:16]).clamp(min=2.0**-53)))
    )


def test_words_are_shake_128_of_length_key_label_and_block() -> None:
    seed = (1).to_bytes(8, "little") + b"k" + b"value"
    second = hashlib.shake_128(seed + (1).to_bytes(8, "little")).digest(16)
    x = fill({"kind": "uniform"}, (fills.BLOCK + 2,), "float64", "k")
    assert x[-2:].tolist() == [(int.from_bytes(second[i : i + 8], "little") >> 11) * 2.0**-53 for i in (0, 8)]
