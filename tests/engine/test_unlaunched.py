"""A file may speak of Triton and leave the work to torch: the result says so."""

from __future__ import annotations

import pytest

from kcbench.engine import Options, Scorer
from kcbench.report.explain import headline

KERNEL = """
import torch, torch.nn as nn, triton
import triton.language as tl

@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + place, mask=place < n)
    tl.store(y + place, tl.where(value < 0, 0.0, value), mask=place < n)

class ModelNew(nn.Module):
    def forward(self, x):
        {body}
"""
LAUNCHES = """x = x.contiguous()
        y = torch.empty_like(x)
        if x.numel():
            relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y"""
HEADER = (
    "# kcbench: language=triton\nimport torch, torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        "
)


@pytest.mark.parametrize(
    ("source", "unlaunched"),
    [
        (KERNEL.format(body=LAUNCHES), False),
        (KERNEL.format(body="return torch.relu(x)"), True),
        (HEADER + "return torch.relu(x)\n", True),
        # Whether it would have launched one is not known.
        (KERNEL.format(body="raise ValueError(1)"), False),
        (
            "import torch, torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n",
            False,
        ),
    ],
    ids=["launched", "decoy", "header alone", "raises", "torch"],
)
def test_a_result_says_when_no_kernel_ran(source: str, unlaunched: bool) -> None:
    pytest.importorskip("triton")
    with Scorer(options=Options(seed="launches", device="cpu", gates=("CMP-01",), legacy=())) as scorer:
        result = scorer.score("level1/relu", source)
    assert result.status == "scored"
    assert ("unlaunched" in result.labels) == unlaunched
    assert headline(result).endswith("no Triton kernel of its own was seen to run") == unlaunched
