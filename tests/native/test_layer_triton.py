"""The layer's descriptors against those in the PTX that Triton makes for sm_100, which needs no GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from .layer_library import FORMATS, library

pytest.importorskip("triton", reason="needs Triton")

SHARED = 0x400
TYPES = {"bf16": "*bf16", "fp16": "*fp16", "tf32": "*fp32"}


@dataclass(frozen=True)
class Mma:
    """One tcgen05.mma of a PTX file, its operands evaluated with shared memory at SHARED and Tensor Memory at 0."""

    kind: str
    d: int
    a: int
    a_in_tensor_memory: bool
    b: int
    instruction: int


OPERATIONS: dict[str, Callable[..., int]] = {
    "mov": lambda x: x,
    "cvt": lambda x: x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "or": lambda x, y: x | y,
    "and": lambda x, y: x & y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y,
    "shr": lambda x, y: x >> y,
    "bfe": lambda x, first, count: x >> first & (1 << count) - 1,
}


def _evaluate(ptx: str, name: str) -> int:
    """The value of a register, from its one definition backwards."""
    name = name.strip()
    if re.fullmatch(r"-?\d+", name):
        return int(name)
    if name == "global_smem":
        return SHARED
    found = re.search(rf"^\s*(\w+)\.[\w.:]+\s+{re.escape(name)}, (.*);$", ptx, re.M)
    assert found, f"{name} is not defined"
    operation, arguments = found[1], found[2]
    if operation == "ld":
        assert arguments == "[global_smem]", "only the address of Tensor Memory is loaded"
        return 0
    if pair := re.fullmatch(r"\{(.+), (.+)\}", arguments):
        return (_evaluate(ptx, pair[1]) & 0xFFFFFFFF) | (_evaluate(ptx, pair[2]) & 0xFFFFFFFF) << 32
    return OPERATIONS[operation](*(_evaluate(ptx, argument) for argument in arguments.split(","))) & 0xFFFFFFFFFFFFFFFF


def _products(ptx: str) -> list[Mma]:
    def place(text: str) -> int:
        return sum(_evaluate(ptx, part) for part in text.split("+"))

    pattern = r"tcgen05\.mma\.cta_group::1\.kind::(\w+) \[ ?(.+?) ?\], (\[.+?\]|%\w+), (%\w+), (%\w+), %\w+;"
    return [
        Mma(
            found[1],
            place(found[2]),
            place(found[3].strip("[] ")) if found[3].startswith("[") else _evaluate(ptx, found[3]),
            found[3].startswith("["),
            _evaluate(ptx, found[4]),
            _evaluate(ptx, found[5]),
        )
        for found in re.finditer(pattern, ptx)
    ]


def _compile(kernel: str, kind: str, tensors: int, **sizes: int | bool) -> str:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from . import layer_triton_kernels

    function = getattr(layer_triton_kernels, kernel)
    names = function.arg_names
    signature = dict.fromkeys(names[: tensors - 1], TYPES[kind])
    signature |= {names[tensors - 1]: "*fp32"} | dict.fromkeys(sizes, "constexpr")
    source = ASTSource(function, signature=signature, constexprs=sizes)
    try:
        compiled = triton.compile(source, target=GPUTarget("cuda", 100, 32), options={"num_warps": 4})
    except RuntimeError as error:
        pytest.skip(f"this Triton does not compile for sm_100: {error}")
    return str(compiled.asm["ptx"])


def _descriptors(name: str, start: int, steps: int) -> list[int]:
    return [library().raw.layer_descriptor(name.encode(), SHARED, start - SHARED, step) for step in range(steps)]


def _start(descriptor: int) -> int:
    return (descriptor & 0x3FFF) << 4


SINGLE = [("bf16", m, 64, 64, ta, tb) for m in (64, 128) for ta in (False, True) for tb in (False, True)]
SINGLE += [("fp16", 64, 64, 64, False, False), ("fp16", 128, 64, 64, True, True)]
SINGLE += [("tf32", m, 64, 64, False, False) for m in (64, 128)]
SINGLE += [
    ("bf16", m, n, k, False, False) for m, n, k in ((128, 64, 32), (64, 64, 32), (128, 64, 16), (64, 128, 64), (128, 128, 128))
]


@pytest.mark.parametrize(("kind", "m", "n", "k", "ta", "tb"), SINGLE)
def test_single_products(kind: str, m: int, n: int, k: int, ta: bool, tb: bool) -> None:
    ptx = _compile("single", kind, 3, M=m, N=n, K=k, TA=ta, TB=tb)
    found = _products(ptx)
    steps = k // (8 if kind == "tf32" else 16)
    assert len(found) == steps
    assert {x.kind for x in found} == {"tf32" if kind == "tf32" else "f16"}
    assert not any(x.a_in_tensor_memory for x in found)
    width = k if kind != "tf32" else 2 * k
    swizzle = "B128" if width >= 64 else "B64" if width == 32 else "B32"
    a_name = f"{kind} MN B128 {k}x{m}" if ta else f"{kind} K {swizzle} {m}x{k}"
    b_name = f"{kind} MN B128 {k}x{n}" if tb else f"{kind} K {swizzle} {n}x{k}"
    assert [x.a for x in found] == _descriptors(a_name, _start(found[0].a), steps)
    assert [x.b for x in found] == _descriptors(b_name, _start(found[0].b), steps)
    assert {x.instruction for x in found} == {library().raw.layer_instruction(FORMATS[kind], m, n, ta, tb, 0, 0)}
    assert _start(found[0].a) % 1024 == _start(found[0].b) % 1024 == 0


@pytest.mark.parametrize("kind", ["bf16", "fp16"])
@pytest.mark.parametrize("m", [64, 128])
def test_an_operand_in_tensor_memory(kind: str, m: int) -> None:
    """A's address goes on by eight columns a step, V is read by its rows, and for M = 64 A and D lie in the same half of the lanes."""
    found = _products(_compile("chained", kind, 4, M=m, N=64, K=64))
    assert [x.a_in_tensor_memory for x in found] == [False] * 4 + [True] * 4
    second = found[4:]
    assert [x.a - second[0].a for x in second] == [0, 8, 16, 24]
    assert [x.b for x in second] == _descriptors(f"{kind} MN B128 64x64", _start(second[0].b), 4)
    assert {x.instruction for x in second} == {library().raw.layer_instruction(FORMATS[kind], m, 64, False, True, 0, 0)}
    assert {x.a >> 16 for x in second} == {x.d >> 16 for x in second}
