"""``kcbench resources``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kcbench.cli.app import app
from kcbench.errors import KcbenchError
from kcbench.resources import tools
from tests.resources.kernels import HEAD, entry

PLANS = Path(__file__).with_name("plans")


def run(*args: object) -> tuple[int, str]:
    """Exit code and stdout; bad input raises, as :func:`kcbench.cli.app.main` expects."""
    done = CliRunner().invoke(app, ["resources", *map(str, args)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_a_kernel_that_fits() -> None:
    code, text = run(PLANS / "two_halves.ptx")
    assert code == 0
    assert text.startswith("kernel for sm_100: fits\n") and "512 Tensor Memory columns" in text
    assert text.count("allocates 256 columns") == 2


def test_a_kernel_that_does_not() -> None:
    code, text = run(PLANS / "two_512.ptx", "--target", "sm_100,sm_90")
    assert code == 1
    assert "kernel for sm_100: refused" in text and "tmem: line" in text and "512 columns while 512 are live" in text
    assert "kernel for sm_90: refused" in text and "the target has none" in text


def test_blocks_that_live_together() -> None:
    assert run(PLANS / "one_warp.ptx", "--blocks", 2)[0] == 0
    code, text = run(PLANS / "one_warp.ptx", "--blocks", 3)
    assert code == 1 and "3 times 256 columns exceed 512" in text


def test_what_a_kernel_asks_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "kernel.ptx"
    path.write_text((PLANS / "one_warp.ptx").read_text().replace(".reqntid 128", ".reqntid 128\n.minnctapersm 4"))
    code, text = run(path)
    assert code == 1 and "4 blocks a multiprocessor are asked for" in text


def test_json() -> None:
    code, text = run(PLANS / "leak_on_one_branch.ptx", "--json")
    (budget,) = json.loads(text)["budgets"]
    assert code == 1 and (budget["kernel"], budget["target"], budget["fits"]) == ("kernel", "sm_100", False)
    (problem,) = budget["problems"]
    assert (problem["code"], problem["kind"], problem["got"]) == ("tmem-leak", "leak", 64)
    assert budget["tensor_memory"]["allocations"][0]["line"] == problem["line"]
    assert budget["figures"]["threads"] == 32


def test_registers_and_shared_memory_come_from_the_assembler(tmp_path: Path) -> None:
    if not tools.find("ptxas"):
        pytest.skip("needs ptxas")
    path = tmp_path / "kernel.ptx"
    path.write_text(HEAD.replace("sm_100a", "sm_80") + ".visible .entry k()\n.reqntid 64\n{ .shared .b8 tile[40000]; .reg .b32 %r<3>; "
                    "mov.u32 %r1, tile; st.volatile.shared.u32 [%r1], %r1; ret; }\n")  # fmt: skip
    _, text = run(path, "--json")
    figures = json.loads(text)["budgets"][0]["figures"]
    assert 0 < figures["registers"] < 64 and figures["shared"] == 40000 and figures["spills"] == 0
    assert figures["threads"] == 64 and json.loads(text)["budgets"][0]["target"] == "sm_80"


def test_threads_and_clusters_have_limits(tmp_path: Path) -> None:
    path = tmp_path / "kernel.ptx"
    text = entry("ret;", threads="1024, 2").replace("\n.shared", "\n.reg .pred %p; .shared")
    path.write_text(text.replace(".reqntid 1024, 2", ".reqntid 1024, 2\n.reqnctapercluster 32"))
    code, shown = run(path)
    assert code == 1 and "2048 threads a block exceed 1024" in shown and "32 blocks a cluster exceed 16" in shown


def metadata(folder: Path, name: str = "kernel", **values: object) -> Path:
    data = {"name": name, "num_warps": 4, "shared": 0, "tmem_size": 0, "target": {"backend": "cuda", "arch": 100}, **values}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(data))
    return path


def test_metadata_of_triton(tmp_path: Path) -> None:
    path = metadata(tmp_path, tmem_size=544, shared=1024, cluster_dims=[2, 1, 1])
    location = '#loc3 = loc("acc"(#loc2))\n#loc2 = loc("/src/kernel.py":42:7)\n'
    tile = "%acc_1 = ttng.tmem_alloc : () -> !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable> loc(#loc3)\n"
    path.with_suffix(".ttgir").write_text(location + "    " + tile)
    code, text = run(path)
    assert code == 1
    assert "544 Tensor Memory columns exceed 512" in text and "acc_1: 128x256 f32, 256 columns, /src/kernel.py:42" in text
    assert "cluster of 2" in text
    assert run(metadata(tmp_path, "other", tmem_size=256))[0] == 0
    # Both lie in the folder.
    assert run(tmp_path)[0] == 1 and "other for sm_100: fits" in run(tmp_path)[1]
    assert run(tmp_path, "--kernel", "oth")[0] == 0


def test_the_code_beside_metadata_is_followed(tmp_path: Path) -> None:
    path = metadata(tmp_path, tmem_size=64, num_warps=1)
    path.with_suffix(".ptx").write_text((PLANS / "leak.ptx").read_text())
    code, text = run(path)
    assert code == 1 and "tmem-leak: 64 columns" in text


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("missing.ptx", None, "no such file"),
        ("notes.txt", "just words", "is no compiled kernel"),
        ("empty.ptx", "", "is no compiled kernel"),
        ("kernel.py", "import triton", "is source code"),
        ("data.json", "{}", "is no metadata of a Triton kernel"),
        ("deep.json", "[" * 100000, "is no metadata of a Triton kernel"),
        ("function.ptx", HEAD + ".func f() { ret; }\n", "there is no kernel in it"),
        ("kernel.cubin", "\x7fELF and no more", "cuobjdump"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, name: str, content: str | None, what: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(KcbenchError, match=what) as error:
        run(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_bad_names(tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match="no kernel of Triton's cache"):
        run(tmp_path)
    with pytest.raises(KcbenchError, match="limits of target 'sm_42' are not known"):
        run(PLANS / "leak.ptx", "--target", "sm_42")
    with pytest.raises(KcbenchError, match="no kernel has 'other' in its name"):
        run(PLANS / "leak.ptx", "--kernel", "other")
    with pytest.raises(KcbenchError, match="names no target"):
        run(PLANS / "leak.ptx", "--target", ",")
