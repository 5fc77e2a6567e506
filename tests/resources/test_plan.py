"""Plans of Tensor Memory, read from small kernels: the broken ones are refused for their reason, the honest ones are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kcbench.resources import ptx, tools
from kcbench.resources.plan import Plan, plans, read_plan
from tests.resources.kernels import entry

FILES = sorted(Path(__file__).with_name("plans").glob("*.ptx"))


def read(text: str, **options: int) -> Plan:
    ((_, plan),) = plans(ptx.functions(text), **options)
    return plan


def stated(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^// (\w+): (.*)$", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_plan_is_refused_for_its_reason_alone(path: Path) -> None:
    plan, expected = read(path.read_text()), stated(path)
    kinds = [problem.kind for problem in plan.problems]
    assert kinds == ([] if expected["expect"] == "fits" else [expected["expect"]]), plan.problems
    assert plan.columns == int(expected["columns"])
    for problem in plan.problems:
        assert problem.code == ("tmem-leak" if problem.kind == "leak" else "tmem")
        assert "tcgen05" in path.read_text().splitlines()[problem.line - 1]
        assert f"line {problem.line}" in problem.text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_assembler_lets_most_of_them_pass(path: Path) -> None:
    said = stated(path)["ptxas"]
    if not tools.find("ptxas"):
        pytest.skip("needs ptxas")
    if said not in ("accepts", "refuses"):
        pytest.skip(f"depends on its version: {said}")
    _, problem = tools.assemble(path.read_text(), "sm_100a")
    if "not defined for option" in problem or "Unsupported .version" in problem:
        pytest.skip("needs a ptxas that knows sm_100a")
    assert bool(problem) == (said == "refuses"), problem


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("two_512", ["allocates 512 columns while 512 are live (512 columns from line", "1024 of 512"]),
        ("leak", ["nothing in it frees any"]),
        ("leak_on_one_branch", ["are not freed where the kernel is left at line", "(@%p bra SHORT) is taken"]),
        ("loop_that_allocates", ["16 times 32 columns", "executed again before what it allocated is freed"]),
        ("every_warp", ["each of 4 warps allocates", "1024 columns of 512"]),
        ("no_power_of_two", ["48 columns, which is no power of two"]),
        ("mixed_groups", ["tcgen05.alloc.cta_group::1", "tcgen05.dealloc.cta_group::2"]),
    ],
)
def test_the_reason_names_what_happens(name: str, texts: list[str]) -> None:
    (problem,) = read((Path(__file__).with_name("plans") / f"{name}.ptx").read_text()).problems
    assert all(text in problem.text for text in texts), problem.text


ALLOCATE = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {};"
FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, {};"
LOAD = "ld.shared.b32 %r1, [slot];"


def test_what_is_not_fixed_is_said_and_not_refused() -> None:
    lines = ["ld.param.u32 %r2, [flag];", ALLOCATE.format("%r2"), LOAD, FREE.format("%r2"), "ret;"]
    plan = read(entry(*lines, threads="32"))
    assert not plan.problems and plan.columns == 0 and plan.allocations[0].columns == 0
    assert any("not fixed in the code" in note for note in plan.notes)


def test_without_the_number_of_threads_one_warp_is_counted() -> None:
    lines = [ALLOCATE.format(256), LOAD, FREE.format(256), "ret;"]
    plan = read(entry(*lines))
    assert not plan.problems and plan.columns == 256
    assert any("how many there are" in note for note in plan.notes)
    assert [problem.kind for problem in read(entry(*lines), threads=128).problems] == ["over-warps"]


def test_an_address_that_is_lost_is_freed_by_its_columns() -> None:
    lines = [ALLOCATE.format(64), "ld.global.u32 %r1, [%r7];", FREE.format(64), "ret;"]
    assert not read(entry(*lines, threads="32")).problems


def test_a_branch_nobody_can_follow_is_said() -> None:
    lines = [ALLOCATE.format(64), LOAD, "brx.idx %r3, NOWHERE;", FREE.format(64), "ret;"]
    plan = read(entry(*lines, threads="32"))
    assert not plan.problems
    assert any("where the code does not say" in note for note in plan.notes)


def test_a_called_function_that_frees_is_said() -> None:
    callee = f".func release()\n{{ .reg .b32 %r<9>; .shared .b32 slot; {LOAD} {FREE.format(64)} ret; }}\n"
    functions = ptx.functions(callee + entry(ALLOCATE.format(64), "call.uni release;", "ret;", threads="32"))
    plan = read_plan(functions[1], functions)
    assert plan is not None and any("is called and not followed" in note for note in plan.notes)
    assert not plan.problems


def test_the_permit_is_spoken_of() -> None:
    lines = [ALLOCATE.format(64), LOAD, FREE.format(64), "ret;"]
    assert any("never relinquished" in note for note in read(entry(*lines, threads="32")).notes)


def test_a_kernel_without_tensor_memory_has_no_plan() -> None:
    assert list(plans(ptx.functions(entry("ret;")))) == []
