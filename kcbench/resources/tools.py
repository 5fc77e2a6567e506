"""NVIDIA's tools: where they are and what they say. They come with Triton or with CUDA."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kcbench.errors import KcbenchError

_SECONDS = 300
_USAGE = re.compile(r"Function (?P<name>\S+?):\s+REG:(?P<rest>.*)")
_FIELD = re.compile(r"(\w+):(\d+)")
_SECTION = re.compile(r"^\.nv\.info\.(?P<name>\S+)", re.MULTILINE)
_THREADS = re.compile(r"EIATTR_(?P<kind>REQNTID|MAX_THREADS)\s+Format:\s*\S+\s+Value:\s*(?P<sizes>(?:0x[0-9a-f]+\s+){3})")
_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


class Usage(NamedTuple):
    """What a tool says of one kernel."""

    registers: int
    spills: int
    """Bytes per thread; from a cubin the stack frame, which in CUDA C++ may hold local arrays too."""
    shared: int
    """Bytes per block that are fixed when compiling."""
    threads: tuple[int, int, int] | None = None
    exact: bool = False


def find(name: str) -> list[str]:
    """Paths of a tool, the one that Triton brings first: it is the newest more often than not."""
    found = []
    spec = importlib.util.find_spec("triton")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "backends" / "nvidia" / "bin"
        found += [str(folder / item) for item in (f"{name}-blackwell", name) if (folder / item).is_file()]
    path = shutil.which(name) or shutil.which(name, path=os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"))
    return list(dict.fromkeys([*found, path])) if path else found


def sass_of(path: Path) -> str:
    """The SASS in a cubin, or in a program or library that carries some.

    Raises:
        KcbenchError: The tool is missing or refuses the file.
    """
    return _cuobjdump(["-sass"], path)


def usage_of(path: Path) -> dict[str, Usage]:
    """Registers, stack, shared memory and threads of the kernels in a cubin.

    Raises:
        KcbenchError: The tool is missing or refuses the file.
    """
    # The usage stands on the line below the name.
    text = re.sub(r":\s*\n\s*REG:", ": REG:", _cuobjdump(["-res-usage"], path))
    threads = _threads(_cuobjdump(["-elf"], path))
    found = {}
    for match in _USAGE.finditer(text):
        fields = dict(_FIELD.findall("REG:" + match["rest"]))
        sizes, exact = threads.get(match["name"], (None, False))
        shared = int(fields.get("SHARED", 0))
        spills = int(fields.get("STACK", 0)) + int(fields.get("LOCAL", 0))
        found[match["name"]] = Usage(int(fields["REG"]), spills, shared, sizes, exact)
    return found


def _threads(elf: str) -> dict[str, tuple[tuple[int, int, int], bool]]:
    found = {}
    heads = list(_SECTION.finditer(elf))
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        match = _THREADS.search(elf, head.end(), after.start() if after else len(elf))
        if match:
            x, y, z = (int(item, 16) for item in match["sizes"].split())
            found[head["name"]] = ((x, y, z), match["kind"] == "REQNTID")
    return found


def _cuobjdump(options: Sequence[str], path: Path) -> str:
    tools = find("cuobjdump")
    if not tools:
        raise KcbenchError(
            "cuobjdump is needed to read it", where=str(path), fix="pip install triton, or put CUDA's tools on PATH"
        )
    done = _run([tools[0], *options, str(path)])
    if done.returncode or not done.stdout.strip():
        raise KcbenchError(f"cuobjdump cannot read it: {_first_line(done)}", where=str(path))
    return done.stdout


def assemble(ptx: str, target: str) -> tuple[dict[str, Usage], str]:
    """Compile PTX and say what its kernels use.

    Args:
        ptx: The text.
        target: What it says it is for, such as ``sm_100a``.

    Returns:
        Usage by kernel, and why there is none: the first line of the last assembler that refused it.
    """
    problem = "ptxas is not installed"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx, encoding="utf-8", errors="replace")
        for tool in find("ptxas"):
            done = _run([tool, f"-arch={target}", "-v", str(source), "-o", str(Path(folder) / "kernel.cubin")])
            if done.returncode == 0:
                return _spoken(done.stderr + done.stdout), ""
            problem = f"ptxas refuses it: {_first_line(done)}"
    return {}, problem


def _spoken(text: str) -> dict[str, Usage]:
    heads = list(_ENTRY.finditer(text))
    found = {}
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.end() : after.start() if after else len(text)]
        registers, spills, shared = (((match := item.search(part)) and int(match[1])) or 0 for item in (_USED, _SPILLS, _SHARED))
        found[head["name"]] = Usage(registers, spills, shared)
    return found


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", f"{Path(command[0]).name}: {error}")


def _first_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    best = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    return (best or lines or ["no reason given"])[0].strip()[:300]
