"""What is computed while code is followed agrees with arithmetic, and what is unknown stays so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.resources import values
from kcbench.resources.figures import Figures, figure_problems
from kcbench.resources.limits import LIMITS, residents
from kcbench.resources.values import Value, compute, number, number_of

WORDS = st.integers(0, (1 << 32) - 1)
UNKNOWN = values.same("special", "%ctaid.x")
MEMORY: Value = ("memory", (3, 0), 0)


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


@given(WORDS, WORDS)
def test_arithmetic_is_that_of_32_bits(a: int, b: int) -> None:
    def of(op: str) -> int | None:
        return number_of(compute(op, [number(a), number(b)]))

    assert of("add.s32") == of("add.u32") == (a + b) % (1 << 32)
    assert of("sub.u32") == (a - b) % (1 << 32)
    assert of("mul.lo.u32") == a * b % (1 << 32)
    assert of("mul.wide.u32") == a * b
    assert (of("and.b32"), of("or.b32"), of("xor.b32")) == (a & b, a | b, a ^ b)
    assert of("setp.lt.u32") == (a < b) and of("setp.ge.s32") == (signed(a) >= signed(b))
    assert of("div.u32") == (a // b if b else None)
    assert (of("max.s32"), of("min.u32")) == (max(signed(a), signed(b)) % (1 << 32), min(a, b))


@given(WORDS, st.integers(0, 40))
def test_shifts(a: int, by: int) -> None:
    assert number_of(compute("shl.b32", [number(a), number(by)])) == (a << by) % (1 << 32)
    assert number_of(compute("shr.u32", [number(a), number(by)])) == a >> by
    assert number_of(compute("shr.s32", [number(a), number(by)])) == (signed(a) >> by) % (1 << 32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("setp.ne.u32", UNKNOWN, number(0)), ("setp.eq.s32", UNKNOWN, number(0))),
        (("setp.lt.u32", UNKNOWN, number(7)), ("setp.ge.u32", UNKNOWN, number(7))),
        (("setp.gt.s32", UNKNOWN, number(7)), ("setp.le.s32", UNKNOWN, number(7))),
        (("setp.ne.s32", UNKNOWN, number(0)), ("setp.eq.u32", number(0), UNKNOWN)),
        (("setp.lt.u32", UNKNOWN, number(7)), ("setp.le.u32", number(7), UNKNOWN)),
    ],
)
def test_a_condition_and_its_opposite_are_about_the_same(one: tuple[str, Value, Value], other: tuple[str, Value, Value]) -> None:
    (about, positive), (also, negative) = (values.condition(compute(op, args)) for op, *args in (one, other))
    assert about is not None and about == also and positive != negative


def test_addresses_of_tensor_memory_are_followed() -> None:
    moved = compute("add.s32", [compute("mov.b32", [MEMORY]), number(16)])
    assert moved == ("memory", (3, 0), 16)
    assert compute("add.s32", [moved, UNKNOWN]) == ("memory", (3, 0), None)
    # The mask that SASS frees 128 columns by: four ones, shifted by the address in units of 32 columns.
    units = compute("shr.u32", [compute("and.b32", [MEMORY, number(0xFFFF)]), number(5)])
    assert compute("not.b32", [compute("shl.b32", [number(0xF), units])]) == ("mask", 128, (3, 0))


@given(st.recursive(st.just(UNKNOWN), lambda inner: st.builds(lambda a: compute("popc.b32", [a]), inner), max_leaves=40))
def test_expressions_do_not_grow_without_end(value: Value) -> None:
    for _ in range(50):
        value = values.opposite(values.logic("and", value, UNKNOWN))
    assert value is None


def test_blocks_on_a_multiprocessor() -> None:
    """By hand: 168 registers in 4 warps are 21,504 of 65,536; 65,552 bytes and the reserved 1,024 are 66,576 of 233,472."""
    assert residents(LIMITS["sm_100"], threads=128, registers=168, shared=65552) == {
        "blocks": 32,
        "threads": 16,
        "registers": 3,
        "shared": 3,
    }
    # A warp is given registers by 256: 33 a thread are 1,280.
    assert residents(LIMITS["sm_90"], threads=32, registers=33, shared=0)["registers"] == 51


@given(st.builds(Figures, *[st.integers(0, 1 << 20)] * 6), st.sampled_from(sorted(LIMITS)))
def test_every_problem_is_a_limit_that_is_broken(figures: Figures, target: str) -> None:
    limits = LIMITS[target]
    for problem in figure_problems(figures, limits):
        assert problem.code in ("registers", "shared", "tmem", "spill-storm")
        assert (
            problem.got > problem.expected
            or problem.code == "tmem"
            or figures.registers * figures.threads > limits.registers_per_block
        )
    assert not list(figure_problems(Figures(64, 0, 1024, 128), limits))
