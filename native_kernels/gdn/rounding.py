"""Where a kernel stores a value in fewer bits, as a switch for the chunkwise model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

FORMATS = ("none", "bf16", "fp16", "bf16x2", "fp16x2")
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def rounded(x: Tensor, form: str) -> Tensor:
    """The value as a format holds it; ``bf16x2`` is the sum of two bfloat16 values, the second of what the first leaves over."""
    if form == "none":
        return x
    base = _DTYPES[form[:4]]
    high = x.to(base).to(x.dtype)
    if not form.endswith("x2"):
        return high
    return high + (x - high).to(base).to(x.dtype)


@dataclass(frozen=True)
class Rounding:
    """The format of every value that becomes an operand of a matrix product or is written to memory.

    Sites: ``A`` (strict part of the inverse), ``W`` (beta times what is not recalled), ``U`` (what tokens write), ``P`` (gated
    products of queries and keys), ``S`` and ``dS`` (states), ``dU``, ``lam`` (the adjoint solve's solution), ``dP``, ``dM``,
    ``dO`` (gradient of the output with its gate), ``gated`` (keys and queries with a channel gate), ``out`` (dq, dk, dv and o).
    """

    default: str = "none"
    sites: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, site: str, x: Tensor) -> Tensor:
        return rounded(x, self.sites.get(site, self.default))


EXACT = Rounding()
BF16 = Rounding("bf16")
"""Every operand in bfloat16."""
BF16_SPLIT = Rounding("bf16", dict.fromkeys(("U", "dP", "dM", "P", "dU", "gated"), "bf16x2"))
"""The operands inside a chunk whose rounding weighs most as the sum of two bfloat16 values each; states in one."""
KERNEL = Rounding("bf16x2", {"out": "bf16"})
"""What the kernels do with bfloat16 inputs: every computed operand is the sum of two bfloat16 values."""
FP16 = Rounding("fp16")
PRESETS = {"exact": EXACT, "bf16": BF16, "bf16-split": BF16_SPLIT, "kernel": KERNEL, "fp16": FP16}
