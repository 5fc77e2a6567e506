"""Whether the emulated matrix unit of ``native_kernels/gdn/tensor`` agrees with a GPU's own, bit for bit.

Builds ``agree.cu`` with nvcc and runs it on the first GPU: random products by ``mma.sync`` (262,144 per kind and sort of input)
and whole kernels by the backends sm90 and software, all against the emulator on the CPU. Exit code 1 where anything differs,
except among results below 2^-120, which are counted apart: published models of the unit disagree there.

    python benchmarks/native_agreement.py            # needs nvcc and a GPU (sm_80 or later)
    python benchmarks/native_agreement.py --build-only --arch 90a
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[1] / "native_kernels/gdn/tensor"


def build(folder: Path, arch: str) -> Path:
    """The executable, compiled for one architecture (such as ``90a``, or ``native`` for the GPU of this machine)."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        raise SystemExit("nvcc is needed to build agree.cu (install the CUDA toolkit, or put it on PATH)")
    target = folder / "agree"
    options = ["-arch=native"] if arch == "native" else ["-gencode", f"arch=compute_{arch},code=sm_{arch}"]
    command = [nvcc, "-std=c++20", "-O2", *options, "-o", str(target), str(SOURCES / "agree.cu"), str(SOURCES / "agree_host.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"agree.cu does not compile:\n{done.stderr}")
    return target


def report(lines: list[dict[str, Any]]) -> bool:
    """Prints the table; returns whether everything agrees."""
    products = [line for line in lines if line["part"] == "products"]
    print(f"{'kind':<6}{'inputs':<18}{'products':>10}{'differ':>9}{'below 2^-120':>14}{'software unit':>15}")
    for line in products:
        print(
            f"{line['kind']:<6}{line['inputs']:<18}{line['compared']:>10}{line['differ']:>9}"
            f"{line['differ_below_2^-120']:>14}{line['software_differs']:>15}  {line['example']}"
        )
    kernels = [line for line in lines if line["part"] == "kernels"]
    print(f"\n{'kernel':<40}{'emulator':>10}{'sm90':>8}{'software':>10}")
    for line in kernels:
        clean = "clean" if line["emulator_clean"] else "trap"
        print(f"{line['kernel']:<40}{clean:>10}{line['sm90_differs']:>8}{line['software_differs']:>10}")
    good = not any(line["differ"] or line["software_differs"] for line in products)
    return good and all(line["emulator_clean"] and not line["sm90_differs"] and not line["software_differs"] for line in kernels)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the emulated matrix unit with a GPU's own.")
    parser.add_argument("--tiles", type=int, default=2048, help="tiles of 128 sums, per kind and sort of input")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", default="native", help="architecture to compile for, such as 90a")
    parser.add_argument("--json", type=Path, help="also write the lines to this file")
    parser.add_argument("--build-only", action="store_true", help="compile, do not run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder), arguments.arch)
        if arguments.build_only:
            print("built")
            return
        command = [str(program), str(arguments.tiles), str(arguments.seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the comparison did not run: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if arguments.json:
        arguments.json.write_text(done.stdout, encoding="utf-8")
    sys.exit(0 if report(lines) else 1)


if __name__ == "__main__":
    main()
