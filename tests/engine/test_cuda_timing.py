"""Timing and inline CUDA kernels from end to end on a GPU, at the tasks' own sizes."""

from __future__ import annotations

import pytest

from kcbench.domain import timing as t
from kcbench.domain.result import Result
from kcbench.domain.timing import Timing
from kcbench.engine import Options, evaluate, run
from kcbench.runtime.build import cannot_build
from kcbench.suites.folder import parse_submission

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

SOFTMAX = """
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def forward(self, x):
        {body}
"""
SIDE = """
        if not hasattr(self, "stream"):
            self.stream = torch.cuda.Stream()
        out = torch.empty_like(x)
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(10_000_000)
            torch.softmax(x, 1, out=out)
        return out
"""
RELU = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
SOURCE = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
template <typename T> __global__ void relu_kernel(const T* x, T* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] != x[i] || x[i] > T(0) ? x[i] : T(0);
}
torch::Tensor relu(torch::Tensor given) {
    auto x = given.contiguous();
    auto y = torch::empty_like(x);
    long n = x.numel();
    if (n) relu_kernel<float><<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
extension = load_inline("relu_ext", "torch::Tensor relu(torch::Tensor given);", SOURCE, functions=["relu"])
class ModelNew(nn.Module):
    def forward(self, x):
        if x.dtype != torch.float32:
            raise TypeError("float32 only")
        return extension.relu(x)
'''


SUM = """
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
    def forward(self, x):
        return {answer}
"""


def options(*timing: str, jobs: int = 1) -> Options:
    # Without the legacy trials, which take longer at these sizes than everything else.
    return Options(seed="gpu", device="cuda", gates=("CMP-01", "RES-02"), legacy=(), timing=timing, jobs=jobs)


def kernel(*lines: str) -> str:
    return SOFTMAX.format(body="\n        ".join(lines))


KERNELS = {
    "relu/cuda": RELU,
    "relu/broken": RELU.replace("? x[i]", "? missing[i]"),
    "softmax/honest": kernel("return torch.softmax(x, 1)"),
    "softmax/stale": kernel("if not hasattr(self, 'kept'): self.kept = torch.softmax(x, 1)", "return self.kept"),
    "softmax/side": kernel(SIDE.strip()),
    "sum_axis/honest": SUM.format(answer="x.sum(self.dim, keepdim=True)"),
    "sum_axis/zeros": SUM.format(answer="torch.zeros(x.shape[0], 1, x.shape[2], device=x.device)"),
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    items = []
    for name, source in KERNELS.items():
        task = f"level1/{name.partition('/')[0]}"
        items.append(parse_submission(source, path=name, id=name, task=task))
    made = run(items, options("eager", "eager-tf32", jobs=4))
    for result in made:
        print(result.id, result.status, result.reason, result.timings, result.untimed, result.timing and result.timing.to_json())
    return {result.id: result for result in made}


def timing_of(result: Result) -> Timing:
    assert result.timing is not None, (result.reason, result.untimed)
    return result.timing


def test_an_honest_kernel_is_not_flagged(results: dict[str, Result]) -> None:
    timing = timing_of(results["softmax/honest"])
    speedup = timing.speedup()
    assert timing.flags == () and timing.checked >= 1 and timing.size == "full"
    assert set(timing.baselines) == {"eager", "eager-tf32"}
    # The same kernel as the baseline: the two agree far better than this says.
    assert speedup is not None and 0.5 < speedup < 2.0


def test_hidden_and_stale_work_is_flagged(results: dict[str, Result]) -> None:
    assert t.TIMED_OUTPUT_WRONG in timing_of(results["softmax/stale"]).flags
    assert t.CLOCK_MISMATCH in timing_of(results["softmax/side"]).flags


def test_nothing_reads_its_inputs_faster_than_the_card_can(results: dict[str, Result]) -> None:
    honest, guess = timing_of(results["sum_axis/honest"]), timing_of(results["sum_axis/zeros"])
    assert honest.flags == () and t.TIMED_OUTPUT_WRONG in guess.flags
    if honest.floor_ms is not None:
        assert honest.floor_ms < honest.median_ms and t.FASTER_THAN_ROOFLINE in guess.flags


def test_an_inline_cuda_kernel_is_scored_and_timed(results: dict[str, Result]) -> None:
    if cannot_build():
        pytest.skip(cannot_build())
    result = results["relu/cuda"]
    assert result.status == "scored" and result.labels[0] == "cuda", result.reason
    assert not result.refused, result.codes
    resources = result.verdict("RES-02")
    assert resources is not None and resources.status == "PASS", resources
    assert timing_of(result).flags == ()


def test_a_build_that_fails_is_a_loud_refusal_with_the_compilers_first_error(results: dict[str, Result]) -> None:
    if cannot_build():
        pytest.skip(cannot_build())
    result = results["relu/broken"]
    assert result.status == "unloadable" and "Error building extension 'relu_ext': cuda.cu(" in result.reason
    assert 'error: identifier "missing" is undefined' in result.reason and result.timing is None


def test_the_compiled_model_is_a_baseline() -> None:
    result = evaluate("level1/gelu", kernel("return nn.functional.gelu(x)"), options=options("eager", "compile"))
    print(result.timings, result.untimed, result.timing and result.timing.to_json())
    timing = timing_of(result)
    assert timing.flags == () and set(timing.baselines) | set(timing.absent) == {"eager", "compile"}
