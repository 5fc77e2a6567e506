"""What a machine needs to build inline CUDA kernels, and how many are built at a time."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch

from kcbench.cores import usable_cores


def parallel_builds() -> int:
    """How many submissions may build at a time: each keeps about two cores busy, and a GiB or two of memory."""
    return max(1, usable_cores() // 2)


def build_jobs(slots: int) -> int:
    """Compilers that one build may start at a time (``MAX_JOBS``).

    Args:
        slots: Submissions that are scored at the same time.
    """
    return min(max(2, usable_cores() // max(1, min(slots, parallel_builds()))), 8)


@functools.cache
def cannot_build() -> str:
    """Why no inline CUDA kernel can be built here, in one line; empty where nothing stands in the way.

    Looks where a worker looks: beside the interpreter, then on ``PATH``, and for the toolkit where torch looks for it.
    """
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    if shutil.which("ninja", path=path) is None:
        return "an inline CUDA kernel needs ninja to be built: pip install ninja"
    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler, path=path) is None:
        return f"an inline CUDA kernel needs a C++ compiler to be built, and there is no {compiler}"
    nvcc = _nvcc(path)
    if nvcc is None:
        return "an inline CUDA kernel needs nvcc to be built: install the CUDA toolkit, or set CUDA_HOME"
    found, wanted = _release(nvcc), torch.version.cuda
    if found and wanted and found.partition(".")[0] != wanted.partition(".")[0]:
        return f"an inline CUDA kernel needs nvcc of torch's CUDA version {wanted} to be built, and this one is {found}"
    return ""


def _nvcc(path: str) -> str | None:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if home is None:
        on_path = shutil.which("nvcc", path=path)
        if on_path is not None:
            return on_path
        home = "/usr/local/cuda"
    place = Path(home, "bin", "nvcc")
    return str(place) if os.access(place, os.X_OK) else None


def _release(nvcc: str) -> str:
    """The toolkit's version, such as ``13.0``; empty where it does not say."""
    try:
        done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"release (\d+\.\d+)", done.stdout)
    return match[1] if match else ""
