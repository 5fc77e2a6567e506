"""The CUDA backends compile, without spills, to the instructions that they stand for. Nothing here runs on a GPU."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .layer_library import HERE

NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
pytestmark = pytest.mark.skipif(not Path(NVCC).exists(), reason="needs nvcc")


def _cuobjdump() -> str | None:
    """CUDA's own, or the one that Triton brings."""
    places = [Path(found).parent for found in [shutil.which("cuobjdump")] if found] + [Path(NVCC).parent]
    if (triton := importlib.util.find_spec("triton")) and triton.origin:
        places.append(Path(triton.origin).parent / "backends/nvidia/bin")
    return next((str(place / "cuobjdump") for place in places if (place / "cuobjdump").exists()), None)


def _compile(backend: str, arch: str, folder: Path) -> tuple[Path, str]:
    target = folder / f"{backend}.cubin"
    command = [NVCC, "-std=c++20", "-O3", f"-DBACKEND={backend}", "-gencode", f"arch=compute_{arch},code=sm_{arch}"]
    command += ["-Xptxas", "-v", "-cubin", "-o", str(target), str(HERE / "device.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    return target, done.stderr


@pytest.mark.parametrize(
    ("backend", "arch", "instructions"),
    [
        ("sm100", "100a", ["UTCHMMA", "LDTM", "STTM", "UTCBAR", "UTCATOMSWS"]),
        ("sm100", "103a", ["UTCHMMA", "LDTM", "STTM", "UTCBAR", "UTCATOMSWS"]),
        ("sm90", "90a", [r"HMMA\.16816\.F32\.BF16", r"HMMA\.16816\.F32", r"HMMA\.1688\.F32\.TF32", "LDSM"]),
        ("software", "90a", []),
        ("software", "80", []),
    ],
)
def test_compiles_without_spills(backend: str, arch: str, instructions: list[str], tmp_path: Path) -> None:
    cubin, log = _compile(backend, arch, tmp_path)
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    assert spills == [("0", "0")] * 3
    if not instructions:
        return
    tool = _cuobjdump()
    if tool is None:
        pytest.skip("needs cuobjdump to read the instructions")
    sass = subprocess.run([tool, "-sass", str(cubin)], capture_output=True, text=True, check=True).stdout
    for instruction in instructions:
        assert re.search(rf"\b{instruction}\b", sass), instruction


@pytest.mark.slow
def test_the_comparison_with_a_card_compiles() -> None:
    script = Path(__file__).parents[2] / "benchmarks/native_agreement.py"
    done = subprocess.run(
        [sys.executable, str(script), "--build-only", "--arch", "90a"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "built"), done.stderr


@pytest.mark.gpu
@pytest.mark.slow
def test_the_emulated_unit_agrees_with_this_card() -> None:
    script = Path(__file__).parents[2] / "benchmarks/native_agreement.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
