"""Reading PTX: its form does not matter, and nothing at all makes the reader fail."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.resources import code, ptx, sass
from kcbench.resources.plan import plans
from tests.resources.kernels import HEAD, entry

PLANS = {path.stem: path.read_text() for path in sorted(Path(__file__).with_name("plans").glob("*.ptx"))}

BLANK = st.sampled_from([" ", "\t", "\n", "  \n", " // a; comment }\n", " /* bra; { */ ", "\r\n"])
SIGNS = (";", ",", "{", "}", "[", "]", "(", ")")


def kinds(text: str) -> list[tuple[str, list[str], int]]:
    return [
        (function.name, [problem.kind for problem in plan.problems], plan.columns)
        for function, plan in plans(ptx.functions(text))
    ]


@given(name=st.sampled_from(sorted(PLANS)), data=st.data())
def test_blanks_and_comments_change_nothing(name: str, data: st.DataObject) -> None:
    """Blanks may stand around every sign, and wherever a blank or a line break is."""
    text = ""
    for line in PLANS[name].splitlines():
        if line.startswith(("//", ".version", ".target", ".address_size")):
            text += line + "\n"  # What these say ends with the line.
            continue
        for letter in line + "\n":
            blank = data.draw(BLANK) if letter in SIGNS or letter.isspace() else ""
            text += blank if letter.isspace() else blank + letter
    assert kinds(text) == kinds(PLANS[name])


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    for read in (ptx.functions, sass.functions):
        list(plans(read(text)))


VOCABULARY = """.entry .func .visible k (.param .u32 a) .reqntid 32 { } ; : , [ ] ( ) @ @!%p @%p L M bra brx.idx ret exit trap call
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 tcgen05.dealloc.cta_group::2.sync.aligned.b32 tcgen05.ld tcgen05.mma
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned setp.lt.u32 mov.u32 add.s32 shl.b32 selp.b32 shfl.sync.idx.b32 elect.sync
ld.shared.b32 st.shared.b32 ld.param.u32 .shared .align 0 16 .b8 s[99999999999999] .loc 1 1 1 .file "x" .section .branchtargets
%r1 %r2 %p %tid.x slot [slot] [%r1] [%r1+8] {%r1,%r2} %p|%q 32 48 512 -1 0x200 0b1 09 1e9 0f3F800000 // /* */ \" !"""
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.lists(WORDS, max_size=80), st.sampled_from([" ", "\n", ""]))
def test_any_words_of_ptx_are_read(words: list[str], between: str) -> None:
    body = between.join(words)
    list(plans(ptx.functions(body)))
    list(plans(ptx.functions(entry(body, threads="64"))))


@given(name=st.sampled_from(sorted(PLANS)), start=st.integers(0, 1500), length=st.integers(0, 200))
def test_a_torn_file_is_read(name: str, start: int, length: int) -> None:
    text = PLANS[name]
    list(plans(ptx.functions(text[:start] + text[start + length :])))


def test_what_a_function_says_of_itself() -> None:
    text = HEAD + (
        ".visible .entry one(.param .u64 a)\n.maxntid 128, 2\n.minnctapersm 3\n.reqnctapercluster 2, 1, 1\n"
        "{ .shared .align 1024 .b8 tiles[4096]; .shared .b32 slot; ret; }\n"
        ".func (.reg .b32 out) two(.reg .b32 in) { ret; }\n.extern .func three(.param .b32 x);\n"
    )
    one, two = ptx.functions(text)
    assert (one.name, one.threads, one.threads_exact, one.resident, one.cluster) == ("one", (128, 2, 1), False, 3, (2, 1, 1))
    assert (one.shared, one.target, one.is_kernel) == (4100, "sm_100a", True)
    assert (two.name, two.is_kernel) == ("two", False)


def test_a_label_is_looked_for_from_the_inside_out() -> None:
    lines = ["{", "AGAIN:", "@%p bra AGAIN;", "}", "{", "AGAIN:", "@%p bra AGAIN;", "bra OUT;", "}", "OUT:", "ret;"]
    (function,) = ptx.functions(entry(*lines))
    assert [step.targets for step in function.steps if step.kind == code.BRANCH] == [(0,), (1,), (3,)]


def test_a_line_knows_its_source() -> None:
    lines = [".loc 1 42 7", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;", "ret;"]
    (function,) = ptx.functions(entry(*lines) + '.file 1 "/src/kernel.py"\n')
    assert function.steps[0].source == "/src/kernel.py:42"


@pytest.mark.parametrize(
    ("text", "operands", "results"),
    [
        ("tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r2], %rd3, %r4, %p1;", ("[%r1]", "[%r2]"), ()),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r1+64], %rd2, %rd3, %r4, {%r5, %r6}, 1;", ("[%r1+64]",), ()),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r7, %r8}, [%r1];", ("[%r1]",), ("%r7", "%r8")),
        ("tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r7};", ("[%r1]",), ()),
    ],
)
def test_uses_of_tensor_memory(text: str, operands: tuple[str, ...], results: tuple[str, ...]) -> None:
    (function,) = ptx.functions(entry(text))
    assert function.steps[0].kind == code.USE
    assert (function.steps[0].operands, function.steps[0].results) == (operands, results)


def test_much_branching_ends() -> None:
    """Conditions that nobody knows, each of which decides about a way out."""
    alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;"
    guards = "\n".join(f"ld.global.u32 %r{n}, [%r0]; setp.ne.u32 %p{n}, %r{n}, 0; @%p{n} {alloc}" for n in range(1, 200))
    ((_, plan),) = plans(ptx.functions(entry(guards, "ret;", threads="32")))
    assert plan.problems or plan.notes


@pytest.mark.parametrize(
    "piece", ["/*", '"', '"\\\\', ".section ", "{", "a:", "@", "bra ", ".loc ", "call (", "[", ".shared .b8 a["]
)
def test_hostile_text_is_read_in_time_that_grows_with_it(piece: str) -> None:
    started = time.process_time()
    ptx.functions(entry(piece * (400_000 // len(piece))))
    assert time.process_time() - started < 10


def test_much_that_is_relevant_ends() -> None:
    alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], %r1;"
    steps = "add.u32 %r1, %r1, 1;\n" * 30_000
    started = time.process_time()
    ((_, plan),) = plans(ptx.functions(entry("L:", steps, alloc, "bra L;", threads="1024")))
    assert plan.notes and time.process_time() - started < 30


def test_a_huge_function_is_refused_to_be_followed() -> None:
    blocks = "\n".join(f"L{n}: @%p bra L{n};" for n in range(5000))
    alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;"
    ((_, plan),) = plans(ptx.functions(entry(alloc, blocks, "ret;")))
    assert not plan.problems and any("too many branches" in note for note in plan.notes)
    assert len(plan.allocations) == 1
