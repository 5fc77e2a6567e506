"""Finds out what a file is and reads the kernels in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kcbench.errors import KcbenchError
from kcbench.resources import ptx, sass, tools, triton_cache
from kcbench.resources.code import Function
from kcbench.resources.figures import Figures
from kcbench.resources.kernel import Kernel
from kcbench.resources.limits import RESERVED_SHARED, base_target
from kcbench.resources.plan import read_plan

MOST_BYTES = 256 << 20
_ELF = b"\x7fELF"


def read_kernels(path: Path, *, threads: int = 0) -> list[Kernel]:
    """The kernels in a file or in a folder of Triton's cache.

    Args:
        path: PTX, SASS text, a cubin, a library with CUDA code, Triton's metadata, or its cache folder.
        threads: Threads per block, for code that does not say.

    Raises:
        KcbenchError: It is nothing of that, or there is no kernel in it.
    """
    if not path.exists():
        raise KcbenchError("no such file or folder", where=str(path))
    if path.is_dir():
        files = triton_cache.metadata_files(path)
        if not files:
            fix = "set TRITON_CACHE_DIR when compiling, and give that folder"
            raise KcbenchError("no kernel of Triton's cache in this folder", where=str(path), fix=fix)
        return [_triton(file, threads) for file in files]
    data = _bytes(path)
    if path.suffix == ".json":
        return [_triton(path, threads)]
    if data.startswith(_ELF):
        found = _cubin(path, threads)
    elif path.suffix == ".py":
        fix = "kcbench eval scores it; for a compiled kernel give the folder that TRITON_CACHE_DIR named"
        raise KcbenchError("is source code, and nothing is compiled or run here", where=str(path), fix=fix)
    else:
        text = data.decode("utf-8", "replace")
        found = _text(path, text, threads)
    if not found:
        raise KcbenchError("there is no kernel in it", where=str(path))
    return found


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise KcbenchError(f"is larger than {MOST_BYTES >> 20} MiB", where=str(path))
        return path.read_bytes()
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _text(path: Path, text: str, threads: int) -> list[Kernel]:
    if ptx.is_ptx(text):
        return _ptx(path, text, threads)
    if sass.is_sass(text):
        functions = sass.functions(text)
        return [_kernel(path, function, functions, tools.Usage(0, 0, 0), threads) for function in functions if _seen(function)]
    fix = "PTX, a cubin, SASS text of cuobjdump or nvdisasm, or Triton's cache are read"
    raise KcbenchError("is no compiled kernel", where=str(path), fix=fix)


def _ptx(path: Path, text: str, threads: int) -> list[Kernel]:
    functions = ptx.functions(text)
    kernels = [function for function in functions if function.is_kernel]
    usage: dict[str, tools.Usage] = {}
    problem = ""
    if kernels:
        usage, problem = tools.assemble(text, kernels[0].target)
    found = []
    for function in kernels:
        used = usage.get(function.name, tools.Usage(0, 0, function.shared))
        kernel = _kernel(path, function, functions, used, threads)
        if problem:
            kernel.notes.append(f"registers and spills are not known: {problem}")
        found.append(kernel)
    return found


def _cubin(path: Path, threads: int) -> list[Kernel]:
    usage = tools.usage_of(path)
    functions = sass.functions(tools.sass_of(path))
    found = []
    for function in functions:
        if not _seen(function):
            continue
        used = usage.get(function.name, tools.Usage(0, 0, 0))
        if function.threads is None:
            function.threads, function.threads_exact = used.threads, used.exact
        if base_target(function.target) >= "sm_90" or len(base_target(function.target)) > 5:
            # From sm_90 on a cubin counts what the system reserves in each block, which is not the kernel's.
            used = used._replace(shared=max(used.shared - RESERVED_SHARED, 0))
        found.append(_kernel(path, function, functions, used, threads))
    return found


def _seen(function: Function) -> bool:
    """Whether a function of SASS is a kernel, as far as its name tells."""
    return not function.name.startswith(("$", "__internal"))


def _kernel(path: Path, function: Function, functions: Sequence[Function], used: tools.Usage, threads: int) -> Kernel:
    size = function.threads[0] * function.threads[1] * function.threads[2] if function.threads else threads
    cluster = 1
    for blocks in function.cluster:
        cluster *= blocks
    figures = Figures(used.registers, used.spills, used.shared, size, 0, cluster)
    kernel = Kernel(function.name, base_target(function.target), str(path), figures, residents=function.resident)
    kernel.plan = read_plan(function, functions, threads=threads)
    return kernel


def _triton(path: Path, threads: int) -> Kernel:
    metadata = dict(triton_cache.read_metadata(path))
    name = str(metadata.get("name") or path.stem)
    target = triton_cache.target_of(metadata)
    notes = []
    cubin = path.with_suffix(".cubin")
    if cubin.is_file():
        try:
            used = tools.usage_of(cubin).get(name)
            if used:
                metadata |= {"n_regs": used.registers, "n_spills": used.spills}
        except KcbenchError as error:
            notes.append(f"registers and spills are not known: {error.what}")
    kernel = Kernel(name, target, str(path), Figures.of_metadata(metadata), notes=notes)
    code = path.with_suffix(".ptx")
    if code.is_file():
        functions = ptx.functions(_bytes(code).decode("utf-8", "replace"))
        mine = next((item for item in functions if item.name == name), None)
        if mine is not None:
            kernel.plan = read_plan(mine, functions, threads=threads or kernel.figures.threads)
    lowered = path.with_suffix(".ttgir")
    if lowered.is_file() and kernel.figures.columns:
        kernel.tiles = triton_cache.tiles(_bytes(lowered).decode("utf-8", "replace"))
    return kernel
