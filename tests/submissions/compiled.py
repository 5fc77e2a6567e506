"""Run as a process of its own, without the interpreter: compiles what every submission launches for sm_90, and prints JSON.

The models run on the CPU at the gate sizes. Each launch is compiled for the types, constants and options it has, and not run.
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

from tests.submissions.catalogue import ALL, FAULTY_ON_A_GPU
from tests.submissions.harness import Pair

TARGET = GPUTarget("cuda", 90, 32)
OPTIONS = ("num_warps", "num_stages")
launches: list[dict[str, Any]] = []
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
    launches.append(
        {
            "kernel": kernel.fn.__name__,
            "shared": compiled.metadata.shared,
            "watched": bool(watched) and watched in compiled.asm["ptx"],
        }
    )


def main() -> None:
    JITFunction.run = compile_only
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for identifier in ALL:
        global watched
        watched = FAULTY_ON_A_GPU.get(identifier, ("", ""))[1]
        launches.clear()
        try:
            pair = Pair.of(identifier)
            inputs = [value.requires_grad_(value.is_floating_point()) for value in pair.inputs()]
            output = pair.models()[1](*inputs)
            if output.requires_grad:
                output.sum().backward()
            found[identifier] = list(launches)
        except Exception:
            found[identifier] = traceback.format_exc(limit=-3)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
