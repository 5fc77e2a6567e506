"""Run as a process of its own, without the interpreter: compiles the kernels whose faults need a GPU for sm_90, and prints JSON.

The models run on the CPU at the gate sizes. Each launch is compiled for the types, constants and options it has, and not run. It says
whether the instruction is there that shows the fault.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction, mangle_type

from tests.submissions.catalogue import FAULTY_ON_A_GPU
from tests.submissions.harness import Pair

TARGET = GPUTarget("cuda", 90, 32)
OPTIONS = ("num_warps", "num_stages")
launches: list[bool] = []
watched = ""


def compile_only(kernel: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
    """Stands in for the launch."""
    options = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs}
    bound = {**dict(zip(kernel.arg_names, args, strict=False)), **kwargs}
    types, constants = {}, {}
    for param in kernel.params:
        value = bound[param.name]
        types[param.name] = "constexpr" if param.is_constexpr else mangle_type(value)
        if param.is_constexpr:
            constants[param.name] = value
    compiled = triton.compile(ASTSource(kernel, types, constants), target=TARGET, options=options)
    launches.append(watched in compiled.asm["ptx"])


def main() -> None:
    JITFunction.run = compile_only
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for identifier, (_, instruction) in FAULTY_ON_A_GPU.items():
        global watched
        watched = instruction
        launches.clear()
        try:
            pair = Pair.of(identifier)
            pair.models()[1](*pair.inputs())
            found[identifier] = list(launches)
        except Exception:
            found[identifier] = traceback.format_exc(limit=-3)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
