"""Compiles recorded launches for targets that need not be present, and reads the resources of what comes out."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from .launches import resources

MOST_PTX = 3 << 20
"""Characters of PTX that are handed on: it travels in a frame's header."""

_USAGE = re.compile(r"Function (?P<name>\S+?):\s+(?P<usage>REG:.*)")
_ARCH = re.compile(r"arch = (sm_\d+)")
_FIELD = re.compile(r"(\w+):(\d+)")


def compile_for(kernels: Sequence[Any], record: dict[str, Any], target: str) -> tuple[dict[str, Any], str]:
    """Compile a recorded launch for a target such as ``sm_90`` without a GPU.

    Args:
        kernels: The kernel objects that the submission's import made.
        record: A launch as :mod:`launches` describes it.
        target: Compute capability.

    Returns:
        ``n_regs``, ``n_spills`` (bytes a thread), ``shared``, ``tmem_size``, ``num_warps``, ... as far as known; and the PTX of a
        kernel that allocates Tensor Memory, empty of others.

    Raises:
        Exception: Whatever the compiler raises.
        LookupError: The kernel is not made by the import alone.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    fn = _find(kernels, record["kernel"], record["line"])
    plain = {getattr(param, "name", ""): not getattr(param, "do_not_specialize", False) for param in fn.params}
    signature: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    hints: dict[tuple[int, ...], list[list[Any]]] = {}
    for index, (name, kind) in enumerate(record["types"].items()):
        hint = record["hints"].get(name, "") if plain.get(name, True) else ""
        if kind.startswith("?"):
            raise TypeError(f"argument {name!r} is a {kind[1:]}, which cannot be compiled for")
        if kind == "constexpr" or hint == "one":
            signature[name] = "constexpr"
            constants[(index,)] = 1 if hint == "one" else _value(kernels, record["constants"][name])
        else:
            signature[name] = kind
            if hint == "aligned":
                hints[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=fn, signature=signature, constexprs=constants, attrs=hints)
    machine = GPUTarget("cuda", int(target.removeprefix("sm_")), 32)
    compiled = triton.compile(source, target=machine, options=dict(record["options"]))
    ptx = compiled.asm["ptx"]
    allocates = "tcgen05.alloc" in ptx and ptx.isascii() and len(ptx) <= MOST_PTX
    return {**resources(compiled.metadata), **_first_usage(compiled.asm["cubin"])}, ptx if allocates else ""


def _find(kernels: Sequence[Any], name: str, line: int) -> Any:
    named = [kernel for kernel in kernels if kernel.fn.__name__ == name]
    exact = [kernel for kernel in named if kernel.fn.__code__.co_firstlineno == line]
    if not named:
        raise LookupError(f"kernel {name!r} is not made when the file is imported")
    return (exact or named)[-1]


def _value(kernels: Sequence[Any], value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(kernels, item) for item in value)
    if isinstance(value, dict):
        if "dtype" in value:
            import triton.language as tl

            return tl.dtype(value["dtype"])
        if "function" in value:
            found = [kernel for kernel in kernels if kernel.fn.__name__ == value["function"]]
            if found:
                return found[-1]
        raise TypeError(f"a constant cannot be rebuilt: {value}")
    return value


def _cuobjdump() -> str:
    try:
        import triton.backends.nvidia

        path = os.path.join(next(iter(triton.backends.nvidia.__path__)), "bin", "cuobjdump")
        if os.path.exists(path):
            return path
    except ImportError:
        pass
    return "cuobjdump"


def _usage(path: str) -> list[tuple[str, str, dict[str, int]]]:
    """Target, kernel name and fields of every kernel in a cubin or a shared library, as ``cuobjdump -res-usage`` prints them."""
    done = subprocess.run([_cuobjdump(), "-res-usage", path], capture_output=True, text=True, timeout=60, check=False)
    found, target = [], ""
    # The usage stands on the line below the name.
    for line in re.sub(r":\s*\n\s*REG:", ": REG:", done.stdout).splitlines():
        arch = _ARCH.search(line)
        target = arch.group(1) if arch else target
        match = _USAGE.search(line)
        if match:
            found.append((target, match["name"], {key: int(value) for key, value in _FIELD.findall(match["usage"])}))
    if not found and done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"cuobjdump failed: {lines[0] if lines else done.returncode}")
    return found


def _figures(usage: dict[str, int]) -> dict[str, int]:
    # A Triton kernel has no local arrays, so that its stack frame is what was spilled; in CUDA C++ it is an upper bound.
    return {"n_regs": usage.get("REG", 0), "n_spills": usage.get("STACK", 0) + usage.get("LOCAL", 0)}


def _first_usage(cubin: bytes) -> dict[str, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        for _, _, usage in _usage(file.name):
            return _figures(usage)
    return {}


def extensions(folder: str) -> list[dict[str, Any]]:
    """The kernels of the CUDA extensions that a submission built below a folder, with their resources by target."""
    found = []
    for parent, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(".so"):
                for target, kernel, usage in _usage(os.path.join(parent, name)):
                    # From sm_90 on a cubin counts the 1 KiB that the system reserves in each block, which is not the kernel's.
                    reserved = 1024 if int(target.removeprefix("sm_")) >= 90 else 0
                    figures = {**_figures(usage), "shared": max(usage.get("SHARED", 0) - reserved, 0)}
                    found.append({"kernel": kernel[:200], "target": target, "metadata": figures})
    return found[:256]
