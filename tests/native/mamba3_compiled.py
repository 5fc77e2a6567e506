"""Cross-compile every Mamba-3 kernel as a call at the largest sizes in use launches it, and print the kernels' names.

``python mamba3_compiled.py sm_100``; the compiled code is in Triton's cache.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from native_kernels.mamba3.carry import carry
from native_kernels.mamba3.gradients import gradients
from native_kernels.mamba3.ops import Sizes
from native_kernels.mamba3.read import read
from native_kernels.mamba3.step import step
from native_kernels.mamba3.turn import turn, turn_back

INTEGERS = {"bounds", "offsets", "owners"}
IN_FLOAT32 = {"phases", "states", "d_states", "d_queries", "d_keys", "d_turned_q", "d_turned_k", "d_now", "d_after", "d_adt"}
IN_FLOAT32 |= {"sums", "d_skip", "dq_bias", "dk_bias"}
OF_RANKS = {"scale", "mix", "mimo_v", "mimo_o", "others", "sums"}


def compile_one(kernel: Any, constants: dict[str, Any], dtype: str, target: str) -> None:
    options = {name: constants.pop(name) for name in ("num_warps", "num_stages") if name in constants}
    types = dict.fromkeys(constants, "constexpr") | dict.fromkeys(("heads", "sequences", "tokens"), "i32")
    types |= dict.fromkeys(INTEGERS, "*i64") | dict.fromkeys(IN_FLOAT32 - constants.keys(), "*fp32")
    signature = {name: types.get(name, f"*{dtype}") for name in kernel.arg_names}
    places = {name: (place,) for place, name in enumerate(kernel.arg_names)}
    source = ASTSource(
        fn=kernel,
        signature=signature,
        constexprs={places[name]: value for name, value in constants.items()},
        attrs={places[name]: [["tt.divisibility", 16]] for name, kind in signature.items() if kind.startswith("*")},
    )
    triton.compile(source, target=GPUTarget("cuda", int(target.removeprefix("sm_")), 32), options=options)


def main() -> None:
    target = sys.argv[1]
    names = []
    for (rank, value), dtype in product([(1, 64), (4, 128)], ["bf16", "fp32"]):
        sizes = Sizes(heads=16, key=128, angles=32, rank=rank, value=value)
        launches: list[tuple[Any, dict[str, Any]]] = [(turn, sizes.turning()), (turn_back, sizes.turning())]
        launches += [(kernel, {**sizes.chunkwise(), "BACK": back}) for kernel in (carry, read) for back in (False, True)]
        launches += [(gradients, sizes.chunkwise()), (step, sizes.stepping())]
        for kernel, constants in launches:
            absent = dict.fromkeys(OF_RANKS & set(kernel.arg_names)) if rank == 1 else {}
            compile_one(kernel, {**absent, **constants}, dtype, target)
            names.append(kernel.__name__)
    print(json.dumps(names))


if __name__ == "__main__":
    main()
