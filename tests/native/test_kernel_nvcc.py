"""The kernels compile for their targets, without spills, to the instructions of Tensor Memory. Nothing here runs on a GPU."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import torch

from kcbench.engine import Options, run
from kcbench.resources import tools
from kcbench.resources.read import read_kernels
from kcbench.suites.folder import parse_submission
from native_kernels.gdn.build import FOLDER
from native_kernels.gdn.call import Instance, instance_for
from native_kernels.gdn.device import backend_of, build, command, compiler
from native_kernels.gdn.members import GDN, KDA, SSD, Member

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not compiler(), reason="needs nvcc")]


def compiled(instance: Instance, backend: str, target: str, folder: Path) -> tuple[Path, str]:
    """The cubin of all four stages, and what ptxas says of them."""
    cubin = folder / "kernels.cubin"
    options = ["-cubin", "-Xptxas", "-v", "-o", str(cubin), *instance.macros(), str(FOLDER / "kernels" / "device.cu")]
    done = subprocess.run([*command(compiler(), backend, target), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    return cubin, done.stderr


@pytest.mark.parametrize("target", ["100a", "103a"])
@pytest.mark.parametrize("member, key_dim", [(GDN, 64), (KDA, 128)], ids=["gdn-64", "kda-128"])
def test_tensor_memory_kernels_do_not_spill(member: Member, key_dim: int, target: str, tmp_path: Path):
    cubin, said = compiled(instance_for(member, torch.bfloat16, key_dim), "sm100", target, tmp_path)
    assert re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said) == [("0", "0")] * 4
    if not tools.find("cuobjdump"):
        pytest.skip("needs cuobjdump to read the instructions")
    sass = tools.sass_of(cubin)
    functions = sass.split("Function : ")[1:]
    assert len(functions) == 4
    for text in functions:
        for instruction in ("UTCHMMA", "LDTM", "UTCBAR", "UTCATOMSWS"):
            assert instruction in text, (text[:80], instruction)
        # The first stage reads products only; the last one takes all that it needs from shared memory.
        assert ("STTM" in text) == ("Scan" in text.splitlines()[0]), text[:80]
        assert not re.search(r"\b(RED|ATOMG?)\.\S*F(32|16|64)", text), "float atomics"


def test_the_budget_of_the_compiled_kernels_is_that_of_the_plan(tmp_path: Path):
    """From the machine code: what each stage allocates, that it is given back, and that no register is spilled."""
    if not tools.find("cuobjdump"):
        pytest.skip("needs cuobjdump to read the instructions")
    cubin, _ = compiled(instance_for(GDN, torch.bfloat16, 64), "sm100", "100a", tmp_path)
    stages = {"Prepare": 64, "4Scan": 256, "ReverseScan": 256, "Gradients": 256}
    found = {stage: kernel for kernel in read_kernels(cubin) for stage in stages if stage in kernel.name}
    assert {stage: kernel.columns for stage, kernel in found.items()} == stages
    for kernel in found.values():
        assert kernel.plan is not None and not kernel.plan.problems and kernel.figures.spills == 0


def test_the_backend_of_hopper_compiles(tmp_path: Path):
    compiled(instance_for(GDN, torch.bfloat16, 64), "sm90", "90a", tmp_path)


BRINGS_A_LIBRARY = """
import os
import shutil

import torch

shutil.copy({library!r}, os.environ["TORCH_EXTENSIONS_DIR"])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


def test_the_budget_gate_reads_the_library_that_an_entry_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if not tools.find("cuobjdump"):
        pytest.skip("needs cuobjdump to read the library")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    build(instance_for(SSD, torch.bfloat16, 64), "sm90", "90a")
    [library] = tmp_path.iterdir()
    item = parse_submission(BRINGS_A_LIBRARY.format(library=str(library)), path="x.py", id="x", task="level1/relu")
    assert item.language == "torch"
    [result] = run([item], Options(seed="a", device="cpu", jobs=1, legacy=(), gates=("RES-02",)))
    [verdict] = result.verdicts
    assert verdict.status == "PASS" and verdict.checks == 4
    assert 64 <= verdict.metrics["n_regs"] <= 255 and verdict.metrics["n_spills"] == 0


@pytest.mark.parametrize(
    "capability, wanted",
    [((10, 0), ("sm100", "100a")), ((10, 3), ("sm100", "103a")), ((9, 0), ("sm90", "90a")), ((8, 6), ("software", "86"))],
)
def test_each_device_has_its_backend(capability: tuple[int, int], wanted: tuple[str, str]):
    assert backend_of(capability) == wanted
