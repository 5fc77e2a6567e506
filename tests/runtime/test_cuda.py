"""What only a GPU shows: streams, peak memory, host copies, device errors, kernels measured on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from kcbench.runtime import Limits, WorkerPool, WorkerSession
from tests.runtime.conftest import ask, module, value
from tests.runtime.test_triton import BODY, HEAD, TUNED, TUNED_BODY

pytestmark = pytest.mark.gpu
X = torch.arange(300, dtype=torch.float32).reshape(3, 100)
Start = Callable[..., WorkerSession]


@pytest.fixture(scope="module")
def gpu_pool() -> Iterator[WorkerPool]:
    with WorkerPool(device="cuda", limits=Limits(call_seconds=120.0)) as pool:
        yield pool


@pytest.fixture
def start(gpu_pool: WorkerPool) -> Iterator[Start]:
    opened = []

    def open_session(body: str = "return x", *, head: str = "", **options: Any) -> WorkerSession:
        opened.append(gpu_pool.open(module(body, head=head), **options))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "offset"])
def test_inputs_and_outputs_live_on_the_device(start: Start, layout: str) -> None:
    seen = start("return x + 1").call(ask(X, layout=layout))
    assert seen.ok, seen
    assert seen.outputs[0].device == "cuda:0" and torch.equal(value(seen.outputs[0]), X + 1)
    assert seen.peak_bytes is not None and seen.peak_bytes >= X.numel() * 4 and seen.host_copies == 0


def test_peak_memory_is_that_of_the_call(start: Start) -> None:
    seen = start("big = torch.empty(64 << 20, dtype=torch.uint8, device=x.device)\nreturn x + 1").call(ask(X, repeats=2))
    assert seen.peak_bytes is not None and 64 << 20 <= seen.peak_bytes < 66 << 20


def test_a_store_that_runs_over_is_seen(start: Start) -> None:
    head = """
import triton
import triton.language as tl

@triton.jit
def fill(out, count, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, offsets.to(tl.float32), mask=(offsets < count) | (not MASKED))
"""
    body = """
out = torch.empty_like(x)
fill[(1,)](out, out.numel(), MASKED={}, BLOCK=1024)
return out
"""
    assert start(body.format(False), head=head).call(ask(X, repeats=2)).outside
    assert not start(body.format(True), head=head).call(ask(X, repeats=2)).outside


@pytest.mark.parametrize(
    ("body", "copies"),
    [
        ("return x + 1", 0),
        ("return (x.cpu() + 1).to(x.device)", 1),
        ("return x + (1 if x.sum().item() > 0 else 2)", 0),
        ("return x + torch.tensor([1.0], device=x.device)", 0),
    ],
)
def test_copies_to_the_host_are_counted_and_copies_to_the_device_are_not(start: Start, body: str, copies: int) -> None:
    seen = start(body).call(ask(X))
    assert seen.ok, seen
    assert seen.host_copies == copies


def test_an_output_on_the_host_is_reported_there(start: Start) -> None:
    assert start("return x.cpu()").call(ask(X)).outputs[0].device == "cpu"


def test_a_kernel_on_the_default_stream_reads_inputs_that_have_not_arrived(start: Start) -> None:
    honest = start("return x * 2").call(ask(X, stream="side", repeats=3))
    assert honest.ok and torch.equal(value(honest.outputs[0]), X * 2) and len(set(honest.repeats)) == 1 and not honest.mutated
    session = start("with torch.cuda.stream(torch.cuda.default_stream()):\n    return x * 2")
    # The first launch of a kernel loads its module, which takes longer than the inputs do.
    session.call(ask(X))
    wrong = session.call(ask(X, stream="side"))
    assert wrong.ok and not torch.equal(value(wrong.outputs[0]), X * 2)


def test_a_loaded_device_changes_nothing_for_an_honest_kernel(start: Start) -> None:
    seen = start("return x @ x.t()").call(ask(X, repeats=4, disturb=("busy", "dirty")))
    assert seen.ok and len(set(seen.repeats)) == 1


def test_a_library_that_has_a_repeatable_kernel_uses_it(start: Start) -> None:
    # Transposed convolutions of cuDNN add with atomics unless they are told not to.
    x = torch.randn(4, 32, 16, 16, 16, generator=torch.Generator().manual_seed(0))
    session = start(
        "w = x[:1, :, :3, :3, :3].reshape(1, 32, 3, 3, 3).expand(32, -1, -1, -1, -1)\nreturn nn.functional.conv_transpose3d(x, w)"
    )
    seen = session.call(ask(x, repeats=10))
    assert seen.ok, seen
    assert len(set(seen.repeats)) == 1


def test_memory_that_was_not_written_shows(start: Start) -> None:
    seen = start("return torch.empty_like(x)").call(ask(X, repeats=3, disturb=("dirty",)))
    assert value(seen.outputs[0]).isnan().all() and len(set(seen.repeats)) == 3


def test_gradients_come_from_the_device(start: Start) -> None:
    seen = start("return x * x").call(ask(X, gradients=("a",), cotangents=(torch.ones_like(X),)))
    assert seen.gradient_status == "ok" and torch.equal(value(seen.gradients["input:a"]), 2 * X)  # type: ignore[arg-type]


def test_a_device_side_assert_ends_the_worker_only(start: Start) -> None:
    session = start("return x[0].index_select(0, torch.full((4,), 10**6, device=x.device)) if float(x[0, 0]) > 0 else x + 1")
    seen = session.call(ask(X + 1))
    assert seen.status == "raised" and seen.raised is not None and "assert" in seen.raised.message.lower()
    assert session.call(ask(X)).ok


def test_running_out_of_device_memory_is_an_exception_and_the_worker_lives_on(start: Start) -> None:
    session = start(
        "self.n = getattr(self, 'n', 0) + 1\nreturn x * self.n if self.n > 1 else torch.empty(1 << 50, device=x.device)"
    )
    seen = session.call(ask(X))
    assert seen.status == "raised" and seen.raised is not None and "memory" in seen.raised.message
    assert torch.equal(value(session.call(ask(X)).outputs[0]), X * 2)


def test_compiled_kernels_run_and_are_measured(start: Start) -> None:
    pytest.importorskip("triton")
    for body, head, expected, kernel in ((BODY, HEAD, X * 3, "scale"), (TUNED_BODY, HEAD + TUNED, X + 1, "tuned")):
        session = start(body, head=head)
        seen = session.call(ask(X, stream="side"))
        assert seen.ok, seen
        assert torch.equal(value(seen.outputs[0]), expected)
        major, minor = torch.cuda.get_device_capability()
        launches = session.compile((f"sm_{major}{minor}", "sm_100"))
        assert [(launch.kernel, launch.error) for launch in launches] == [(kernel, "")] * 2
        assert all(launch.metadata["n_regs"] > 0 and launch.metadata["n_spills"] == 0 for launch in launches)


@pytest.mark.slow
def test_an_inline_extension_is_built_and_its_resources_are_read(start: Start) -> None:
    head = '''
    from torch.utils.cpp_extension import load_inline
    SOURCE = """
    #include <torch/extension.h>
    __global__ void twice_kernel(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = 2 * x[i];
    }
    torch::Tensor twice(torch::Tensor x) {
        auto y = torch::empty_like(x);
        int n = x.numel();
        twice_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
        return y;
    }
    """
    extension = load_inline("twice_ext", "torch::Tensor twice(torch::Tensor x);", SOURCE, functions=["twice"])
    '''
    session = start("return extension.twice(x)", head=head, limits=Limits(load_seconds=300.0))
    report = session.load()
    assert report.ok, report
    assert torch.equal(value(session.call(ask(X)).outputs[0]), X * 2)
    # It launches on the default stream whatever the current one is: a side stream shows it.
    assert not torch.equal(value(session.call(ask(X, stream="side")).outputs[0]), X * 2)
    launches = session.compile()
    assert any("twice_kernel" in launch.kernel and launch.metadata["n_regs"] > 0 for launch in launches)
