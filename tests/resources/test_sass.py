"""Plans read from SASS are those of the PTX that it was made from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kcbench.resources import ptx, sass, tools
from kcbench.resources.plan import plans
from kcbench.resources.read import read_kernels

PLANS = sorted(Path(__file__).with_name("plans").glob("*.ptx"))
LOST = {"no_power_of_two": "a number of columns is rounded down to units of 32 before the hardware is asked"}


@pytest.fixture(scope="module")
def assembler() -> str:
    """One that knows sm_100a."""
    for tool in tools.find("ptxas"):
        listed = subprocess.run([tool, "--help"], capture_output=True, text=True, check=False).stdout
        if "sm_100a" in listed:
            return tool
    pytest.skip("needs a ptxas that knows sm_100a")


def assemble(path: Path, assembler: str, folder: Path) -> Path:
    if not tools.find("cuobjdump"):
        pytest.skip("needs cuobjdump")
    cubin = folder / "kernel.cubin"
    done = subprocess.run([assembler, "-arch=sm_100a", str(path), "-o", str(cubin)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return cubin


COMPARED = [path for path in PLANS if "ptxas: accepts\n" in path.read_text() and path.stem not in LOST]


@pytest.mark.parametrize("path", COMPARED, ids=lambda path: path.stem)
def test_sass_tells_what_ptx_told(path: Path, assembler: str, tmp_path: Path) -> None:
    ((original, expected),) = plans(ptx.functions(path.read_text()))
    functions = sass.functions(tools.sass_of(assemble(path, assembler, tmp_path)))
    (function,) = [item for item in functions if item.name == "kernel"]
    function.threads, function.threads_exact = original.threads, True
    ((_, found),) = plans([function])
    assert {problem.kind for problem in found.problems} == {problem.kind for problem in expected.problems}, found
    assert found.columns == expected.columns


def test_a_cubin_is_read_whole(assembler: str, tmp_path: Path) -> None:
    path = next(path for path in PLANS if path.stem == "every_warp")
    (kernel,) = read_kernels(assemble(path, assembler, tmp_path))
    assert (kernel.name, kernel.target, kernel.figures.threads, kernel.figures.shared) == ("kernel", "sm_100", 128, 16)
    assert 0 < kernel.figures.registers < 64 and kernel.plan is not None
    assert [problem.kind for problem in kernel.plan.problems] == ["over-warps"]


def test_text_of_both_disassemblers(assembler: str, tmp_path: Path) -> None:
    cubin = assemble(next(path for path in PLANS if path.stem == "one_warp"), assembler, tmp_path)
    if not tools.find("nvdisasm"):
        pytest.skip("needs nvdisasm")
    other = subprocess.run([tools.find("nvdisasm")[0], "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    for text in (tools.sass_of(cubin), other):
        file = tmp_path / "kernel.sass"
        file.write_text(text)
        (kernel,) = read_kernels(file, threads=128)
        assert kernel.target == "sm_100" and kernel.plan is not None
        assert (kernel.plan.columns, kernel.plan.problems) == (256, []) and len(kernel.plan.relinquishes) == 1
