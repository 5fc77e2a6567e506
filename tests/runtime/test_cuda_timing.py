"""Timed calls on a GPU: events that cannot be replaced, work that they do not see, and caches that hold nothing."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from kcbench.runtime import Limits, ModelSpec, TensorArg, WorkerPool, WorkerSession
from kcbench.runtime.stopwatch import Stopwatch, Trial
from kcbench.runtime.worker.timing import STEPS
from tests.runtime.conftest import module, value

pytestmark = pytest.mark.gpu
Start = Callable[..., WorkerSession]
X = torch.rand(256, 256, generator=torch.Generator().manual_seed(1))
CYCLES = 40_000_000
"""Clock cycles that a long kernel takes: about 20 ms."""
LONG_MS = 5.0
"""No card runs that many cycles in less."""


@pytest.fixture(scope="module")
def gpu_pool() -> Iterator[WorkerPool]:
    with WorkerPool(device="cuda", limits=Limits(call_seconds=120.0)) as pool:
        yield pool


@pytest.fixture
def stopwatch(gpu_pool: WorkerPool) -> Iterator[Callable[..., Stopwatch]]:
    opened = []

    def open_stopwatch(body: str, *, head: str = "", x: torch.Tensor = X, scaled: bool = True) -> Stopwatch:
        opened.append(gpu_pool.open(module(body, head=head)))
        made = Stopwatch(opened[-1], ModelSpec((), str(x.dtype).removeprefix("torch.")), "ieee")
        assert made.stage(((TensorArg(x),), (TensorArg(x.flip(0).contiguous()),)), (scaled,)) == 2
        made.run(trials(3))
        return made

    yield open_stopwatch
    for session in opened:
        session.close()


def trials(count: int) -> list[Trial]:
    return [Trial(index % 2, index + 1, index) for index in range(count)]


PATCHES = """
class Event:
    def __init__(self, *args, **kwargs): pass
    def record(self, *args): pass
    def synchronize(self): pass
    def elapsed_time(self, other): return 1e-6
torch.cuda.Event.record = torch.cuda.Event.synchronize = lambda self, *args: None
torch.cuda.Event.elapsed_time = lambda self, other: 1e-6
torch.cuda.Event = torch._C._CudaEventBase = Event
torch.cuda.synchronize = torch._C._cuda_synchronize = lambda *args: None
torch.cuda.default_stream = torch.cuda.current_stream
time.perf_counter = time.monotonic = lambda: 0.0
"""


@pytest.mark.parametrize("head", ["", PATCHES])
def test_device_work_is_measured_whatever_becomes_of_the_timers(stopwatch: Callable[..., Stopwatch], head: str) -> None:
    made = stopwatch(f"torch.cuda._sleep({CYCLES})\nreturn x * 2", head=head)
    batch, empty = made.run(trials(5)), made.run(trials(5), call=False)
    assert all(ms >= LONG_MS for ms in batch.ms)
    assert statistics.median(empty.ms) < LONG_MS / 5
    assert (batch.seconds - empty.seconds) * 1e3 >= 5 * LONG_MS
    assert torch.equal(value(made.output(4).outputs[0]), X * (1 - 5 / STEPS) * 2)


def test_work_on_another_stream_shows_on_the_graders_clock(stopwatch: Callable[..., Stopwatch]) -> None:
    body = f"""
    self.stream = getattr(self, "stream", None) or torch.cuda.Stream()
    with torch.cuda.stream(self.stream):
        torch.cuda._sleep({CYCLES})
    return x * 2
    """
    made = stopwatch(body)
    batch, empty = made.run(trials(5)), made.run(trials(5), call=False)
    assert statistics.median(batch.ms) < LONG_MS / 5
    assert (batch.seconds - empty.seconds) * 1e3 >= 5 * LONG_MS


def test_a_result_that_arrives_on_another_stream_later_is_not_the_answer(stopwatch: Callable[..., Stopwatch]) -> None:
    body = f"""
    self.stream = getattr(self, "stream", None) or torch.cuda.Stream()
    out = torch.zeros_like(x)
    with torch.cuda.stream(self.stream):
        torch.cuda._sleep({CYCLES})
        out.copy_(x * 2)
    return out
    """
    made = stopwatch(body)
    made.run(trials(3))
    assert not torch.equal(value(made.output(1).outputs[0]), X.flip(0) * (1 - 2 / STEPS) * 2)


def test_a_stream_that_is_left_current_changes_nothing(stopwatch: Callable[..., Stopwatch]) -> None:
    body = f"""
    if not hasattr(self, "stream"):
        self.stream = torch.cuda.Stream()
    torch.cuda.set_stream(self.stream)
    torch.cuda._sleep({CYCLES})
    return x * 2
    """
    batch = stopwatch(body).run(trials(5))
    # The clock runs on the default stream, where the call does nothing: the grader's clock tells.
    assert batch.seconds * 1e3 >= 5 * LONG_MS and statistics.median(batch.ms) < LONG_MS / 5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_fresh_values_are_the_same_on_both_devices(stopwatch: Callable[..., Stopwatch], dtype: torch.dtype) -> None:
    made = stopwatch("return x + 0", x=X.to(dtype))
    made.run([Trial(0, 77, 0), Trial(0, 255, 0)])
    for index, step in enumerate((77, 255)):
        assert torch.equal(value(made.output(index).outputs[0]), torch.mul(X.to(dtype), 1 - step / STEPS))


def test_what_is_remembered_by_address_is_stale(stopwatch: Callable[..., Stopwatch]) -> None:
    body = """
    cache = self.__dict__.setdefault("cache", {})
    if x.data_ptr() not in cache:
        cache[x.data_ptr()] = x * 2
    return cache[x.data_ptr()]
    """
    made = stopwatch(body)
    made.run(trials(6))
    right = [torch.equal(value(made.output(index).outputs[0]), made_of(trial) * 2) for index, trial in enumerate(trials(6))]
    assert not any(right[3:])


def made_of(trial: Trial) -> torch.Tensor:
    return (X.flip(0) if trial.chosen else X) * (1 - trial.step / STEPS)


CHASE = """
import triton
import triton.language as tl
@triton.jit
def chase(table, out, steps, passes):
    found = tl.load(table) * 0
    for p in range(passes):
        at = found * 0
        for s in range(steps):
            at = tl.load(table + at)
        found += at
    tl.store(out, found)
"""


def test_the_cache_holds_nothing_of_the_inputs(stopwatch: Callable[..., Stopwatch]) -> None:
    """A walk from line to line of a table waits for each of them: first for device memory, then, once more, for the cache."""
    pytest.importorskip("triton")
    lines, width = 16384, 16
    order = torch.randperm(lines, generator=torch.Generator().manual_seed(1))
    table = torch.zeros(lines * width, dtype=torch.int64)
    table[order * width] = order.roll(-1) * width

    def walk(passes: int) -> float:
        body = f"out = torch.empty(1, dtype=torch.int64, device=x.device)\nchase[(1,)](x, out, {lines}, {passes})\nreturn out"
        made = stopwatch(body, head=CHASE, x=table, scaled=False)
        return min(made.run([Trial(0, 0, index) for index in range(5)]).ms)

    cold = walk(1)
    warm = walk(2) - cold
    # Device memory takes more than twice as long to answer as the cache on every card of the last ten years.
    assert cold > 1.3 * warm, (cold, warm)


def test_a_kernel_that_faults_while_it_is_timed_ends_its_worker_only(gpu_pool: WorkerPool) -> None:
    from kcbench.runtime.stopwatch import NotTimedError

    body = "return x.index_select(0, torch.full((4,), 10**6, device=x.device))"
    with gpu_pool.open(module(body)) as session:
        made = Stopwatch(session, ModelSpec((), "float32"), "ieee")
        made.stage(((TensorArg(X),),), (True,))
        with pytest.raises(NotTimedError, match="assert"):
            made.run([Trial(0, 1, 0)])
    with gpu_pool.open(module("return x + 1")) as session:
        made = Stopwatch(session, ModelSpec((), "float32"), "ieee")
        made.stage(((TensorArg(X),),), (True,))
        assert made.run([Trial(0, 1, 0)]).ms


def test_one_architecture_is_built_for(gpu_pool: WorkerPool) -> None:
    head: Any = "print(os.environ['TORCH_CUDA_ARCH_LIST'], flush=True)"
    with gpu_pool.open(module(head=head)) as session:
        assert session.load().ok
        major, minor = torch.cuda.get_device_capability()
        assert session.log.strip().removesuffix("+PTX") == f"{major}.{minor}"
