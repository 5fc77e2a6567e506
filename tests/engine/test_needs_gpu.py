"""Kernels that refuse to work without a GPU get no verdict on a CPU, and those that only ask for it are scored on the interpreter."""

from __future__ import annotations

import importlib.util

import pytest

from kcbench.domain.observation import Raised
from kcbench.domain.result import Result
from kcbench.engine import Options, run
from kcbench.engine.needs_gpu import needs_gpu
from kcbench.suites.folder import parse_submission

TORCH = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        {line}
        return torch.relu(x)
"""

TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x < 0, 0.0, x), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda, "inputs must be on the GPU"
        x = x.contiguous()
        y = torch.empty_like(x)
        if x.numel():
            relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""


@pytest.mark.parametrize(
    ("message", "line", "expected"),
    [
        ("", "    assert x.is_cuda", True),
        ("Torch not compiled with CUDA enabled", "    y = torch.empty(3, device=device)", True),
        ("input must be on the GPU", "    raise ValueError(message)", True),
        ("Found no NVIDIA driver on your system", "    lazy_init()", True),
        ("shape mismatch", "    assert x.shape == y.shape", False),
        ("", "", False),
    ],
)
def test_the_message_or_the_line_that_raised_tells(message: str, line: str, expected: bool) -> None:
    trace = f'Traceback (most recent call last):\n  File "a.py", line 1, in forward\n{line}\n    ^^^^\nAssertionError\n'
    assert needs_gpu(Raised("AssertionError", message, trace)) is expected


def test_nothing_raised_needs_nothing() -> None:
    assert not needs_gpu(None)


NEEDING = ("assert x.is_cuda", "torch.empty(1, device='cuda')", "raise ValueError('give me a CUDA tensor')")
FAULTY = "assert x.shape == 3"


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    """Of one run, by id: workers take longer to start than these kernels to score."""
    sources = {line: TORCH.format(line=line) for line in (*NEEDING, FAULTY)}
    if importlib.util.find_spec("triton") is not None:
        sources["triton"] = TRITON
    items = [parse_submission(text, path="<source>", id=name, task="level1/relu") for name, text in sources.items()]
    found = run(items, Options(seed="0", device="cpu", gates=("CMP-01", "EXC-01")))
    return {result.id: result for result in found}


@pytest.mark.parametrize("line", NEEDING)
def test_on_a_cpu_such_a_kernel_gets_no_verdict(line: str, results: dict[str, Result]) -> None:
    result = results[line]
    assert result.status == "skipped" and "GPU" in result.reason
    assert not result.refused and not result.clean and not result.verdicts


def test_another_exception_is_a_refusal(results: dict[str, Result]) -> None:
    assert results[FAULTY].status == "scored" and results[FAULTY].refused


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")
def test_the_interpreter_stands_in_for_the_gpu_that_a_triton_kernel_asks_for(results: dict[str, Result]) -> None:
    assert results["triton"].status == "scored" and not results["triton"].refused, results["triton"].codes
