"""Libraries of the kernels: one for each instance and backend, built when first asked for and kept beside the sources."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from native_kernels.gdn.errors import KernelError

FOLDER = Path(__file__).parent


@functools.cache
def library(command: Sequence[str], source: str, seconds: int = 1800) -> ctypes.CDLL:
    """Compile a source file of ``kernels/`` to a shared library, or take the one that was built from the same text before.

    Args:
        command: The compiler, empty where there is none, and its options, without source and target.
        source: Name of the file.
        seconds: How long the compiler may take.

    Raises:
        KernelError: There is no compiler, it refuses the source, or it takes too long.
    """
    # Not of the compiler's path: what was built elsewhere for this device may be carried here.
    digest = hashlib.sha256("\0".join([*command[1:], source]).encode())
    for path in sorted((*FOLDER.glob("kernels/*"), *FOLDER.glob("tensor/**/*.h"))):
        digest.update(path.read_bytes())
    target = _folder() / f"{Path(source).stem}-{digest.hexdigest()[:20]}.so"
    if not target.exists():
        part = target.with_suffix(f".{os.getpid()}")
        where = f"native_kernels/gdn/kernels/{source}"
        if not command[0]:
            tools = "nvcc of CUDA 13" if source.endswith(".cu") else "g++ 12 or newer, or set CXX"
            raise KernelError("there is no compiler for it", where=where, fix=f"install {tools}")
        arguments = [*command, "-o", str(part), str(FOLDER / "kernels" / source)]
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise KernelError(f"not compiled within {seconds} s", where=where) from error
        if done.returncode:
            errors = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line or "fatal" in line] or [
                "no message"
            ]
            raise KernelError(f"does not compile: {errors[0]}", where=where)
        part.replace(target)
    _show(target)
    return ctypes.CDLL(str(target))


def _show(target: Path) -> None:
    """Lay a library where torch's own extensions would be built: kcbench reads there what a submission's kernels need."""
    folder = os.environ.get("TORCH_EXTENSIONS_DIR", "")
    if os.path.isdir(folder):
        shutil.copy2(target, folder)


@functools.cache
def _folder() -> Path:
    """Where libraries are kept: ``KCBENCH_NATIVE_BUILD``, else beside the sources, else a folder for this process."""
    wanted = Path(os.environ.get("KCBENCH_NATIVE_BUILD", FOLDER / ".build"))
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp())
    return wanted if os.access(wanted, os.W_OK) else Path(tempfile.mkdtemp())
