"""Timed calls: what is measured, what the inputs are, and what is believed of an answer."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kcbench.domain.observation import Observation, Raised
from kcbench.runtime import ModelSpec, ScalarArg, TensorArg, WorkerSession
from kcbench.runtime.stopwatch import Args, NotTimedError, Stopwatch, Trial, batch_of
from kcbench.runtime.worker.frames import Frame, FrameError
from kcbench.runtime.worker.timing import STEPS
from tests.runtime.conftest import module, value

Start = Callable[..., WorkerSession]
SETS: tuple[Args, ...] = tuple((TensorArg(torch.arange(6.0) + 10 * n), ScalarArg(n)) for n in (1, 2))
NAP = 0.05
"""Seconds that a slow call sleeps: far more than anything else in it takes."""


def staged(session: WorkerSession, sets: tuple[Args, ...] = SETS, scaled: tuple[bool, ...] = (True, False)) -> Stopwatch:
    stopwatch = Stopwatch(session, ModelSpec((), "float32", instance="timing"), "ieee")
    assert stopwatch.stage(sets, scaled) == len(sets)
    return stopwatch


def forward(body: str, **options: str) -> str:
    return module(body, args="x, n", **options)


def trials(count: int) -> list[Trial]:
    return [Trial(index % 2, index + 1, index) for index in range(count)]


# What is measured


def test_a_sleep_is_measured_by_both_clocks(start: Start) -> None:
    stopwatch = staged(start(file=forward(f"time.sleep({NAP})\nreturn x * 2")))
    batch, empty = stopwatch.run(trials(5)), stopwatch.run(trials(5), call=False)
    assert len(batch.ms) == 5 and all(NAP * 1e3 <= ms < 5e3 for ms in batch.ms)
    assert batch.seconds >= 5 * NAP and batch.seconds * 1e3 >= sum(batch.ms)
    assert len(empty.ms) == 5 and statistics.median(empty.ms) < NAP * 1e3 / 5
    assert batch.kept_bytes == 24 and batch.state_bytes == 0


PATCHES = """
import time, torch
class Event:
    def __init__(self, *args, **kwargs): pass
    def record(self, *args): pass
    def elapsed_time(self, other): return 1e-6
time.perf_counter = time.monotonic = time.time = lambda: 0.0
time.perf_counter_ns = time.monotonic_ns = lambda: 0
torch.cuda.Event = Event
torch.cuda.synchronize = lambda *args: None
torch.mul = torch.Tensor.mul = lambda *args, **kwargs: args[0]
torch.Tensor.copy_ = torch.Tensor.fill_ = torch.Tensor.clone = lambda self, *args, **kwargs: self
"""


def test_replacing_timers_and_copies_gains_nothing(start: Start) -> None:
    stopwatch = staged(start(file=forward(f"time.sleep({NAP})\nreturn x + 0", head=PATCHES)))
    batch = stopwatch.run(trials(4))
    assert all(ms >= NAP * 1e3 for ms in batch.ms)
    assert torch.equal(value(stopwatch.output(3).outputs[0]), SETS[1][0].tensor * (1 - 4 / STEPS))  # type: ignore[union-attr]


def test_the_collector_does_not_run_while_a_call_is_timed_and_does_afterwards(start: Start) -> None:
    session = start(file=forward("import gc\nprint(gc.isenabled(), flush=True)\nreturn x"))
    staged(session).run(trials(2))
    assert session.log.splitlines() == ["False", "False"]
    bad = start(file=forward("import gc\nraise ValueError(gc.isenabled())"))
    with pytest.raises(NotTimedError, match="ValueError: False"):
        staged(bad).run(trials(1))


# What the inputs are


def test_every_call_gets_the_values_of_its_trial(start: Start) -> None:
    session = start(file=forward("print(n, *x.tolist(), flush=True)\nreturn x * n"))
    stopwatch = staged(session)
    wanted = [Trial(0, 1, 0), Trial(1, 1, 0), Trial(0, 200, 0)]
    stopwatch.run(wanted)
    rows = [[float(word) for word in line.split()] for line in session.log.splitlines()]
    for row, trial in zip(rows, wanted, strict=True):
        base = torch.arange(6.0) + 10 * (trial.chosen + 1)
        assert row == [trial.chosen + 1, *(base * (1 - trial.step / STEPS)).tolist()]
    for index, trial in enumerate(wanted):
        assert value(stopwatch.output(index).outputs[0]).tolist() == [item * (trial.chosen + 1) for item in rows[index][1:]]


def test_what_is_not_scaled_comes_as_it_is(start: Start) -> None:
    stopwatch = staged(start(file=forward("return x + 0")), scaled=(False, False))
    stopwatch.run(trials(2))
    assert value(stopwatch.output(1).outputs[0]).tolist() == (torch.arange(6.0) + 20).tolist()


def test_a_call_that_writes_to_its_input_does_not_spoil_the_next(start: Start) -> None:
    stopwatch = staged(start(file=forward("return x.zero_() if self.training and x[0] < 0 else (x.clone(), x.zero_())[0]")))
    stopwatch.run(trials(6))
    for index, trial in enumerate(trials(6)):
        expected = (torch.arange(6.0) + 10 * (trial.chosen + 1)) * (1 - trial.step / STEPS)
        assert torch.equal(value(stopwatch.output(index).outputs[0]), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_scaling_is_the_same_here_and_there(start: Start, dtype: torch.dtype) -> None:
    tensor = torch.rand(1000, generator=torch.Generator().manual_seed(1)).to(dtype)
    session = start("return x + 0")
    stopwatch = staged(session, ((TensorArg(tensor),),), (True,))
    for step in (1, 77, 255):
        stopwatch.run([Trial(0, step, 0)])
        assert torch.equal(value(stopwatch.output(0).outputs[0]), torch.mul(tensor, 1 - step / STEPS))


def test_a_stale_result_is_seen_to_be_one(start: Start) -> None:
    body = "if not hasattr(self, 'kept'): self.kept = x * 2\nreturn self.kept"
    stopwatch = staged(start(file=forward(body)))
    stopwatch.run(trials(3))
    assert stopwatch.output(0).outputs == stopwatch.output(2).outputs


def test_an_output_is_copied_as_it_was_when_the_call_was_over(start: Start) -> None:
    head = "import threading"
    body = "out = torch.zeros(6)\nthreading.Timer(0.3, lambda: out.fill_(1)).start()\nreturn out"
    session = start(file=forward(body, head=head))
    stopwatch = staged(session)
    stopwatch.run(trials(1))
    stopwatch.run([], call=False)
    assert value(stopwatch.output(0).outputs[0]).tolist() == [0.0] * 6


def test_random_numbers_follow_from_the_trial(start: Start) -> None:
    stopwatch = staged(start(file=forward("return torch.rand(4)")))
    stopwatch.run([Trial(0, 1, 7), Trial(0, 2, 8), Trial(1, 3, 7)])
    first, second, third = (stopwatch.output(index).outputs for index in range(3))
    assert first == third != second


def test_sets_are_replaced(start: Start) -> None:
    stopwatch = staged(start(file=forward("return x * 1")))
    stopwatch.run(trials(2))
    other = ((TensorArg(torch.full((3,), 8.0)), ScalarArg(1)),)
    assert stopwatch.stage(other, (False, False)) == 1
    stopwatch.run([Trial(0, 5, 0)])
    assert value(stopwatch.output(0).outputs[0]).tolist() == [8.0] * 3


# What goes wrong


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no\\nmore')", "ValueError: no"),
        ("os._exit(3)", "exited with status 3"),
        ("return x.to_sparse()", "layout"),
    ],
)
def test_a_call_that_fails_says_why(start: Start, body: str, reason: str) -> None:
    stopwatch = staged(start(file=forward(body)))
    try:
        stopwatch.run(trials(2))
        found = stopwatch.output(0)
        assert found.status == "raised" and found.raised is not None and reason in found.raised.message
    except NotTimedError as error:
        assert reason in str(error) and len(str(error).splitlines()) == 1


def test_a_call_that_hangs_ends_the_worker(start: Start) -> None:
    stopwatch = staged(start(file=forward("time.sleep(600)\nreturn x")))
    with pytest.raises(NotTimedError, match=r"no answer within 0\.5 s"):
        stopwatch.run(trials(1), seconds=0.5)


def test_a_worker_that_was_started_again_has_no_inputs_and_says_so(start: Start) -> None:
    session = start(file=forward("return x"))
    stopwatch = staged(session)
    session._line._child.kill()  # type: ignore[union-attr]
    for _ in range(2):
        with pytest.raises(NotTimedError):
            stopwatch.run(trials(1))
    assert stopwatch.stage(SETS, (True, False)) == 2
    assert stopwatch.run(trials(1)).ms


class Full:
    """A session whose device has room for so many input sets."""

    def __init__(self, room: int, status: str = "raised") -> None:
        self.room, self.status = room, status

    def exchange(self, header: dict[str, Any], payload: object, read: Callable[..., Any], **options: Any) -> Any:
        self.room -= 1
        return read(None, 0.0) if self.room >= 0 else Observation(self.status, raised=Raised("OutOfMemoryError", "CUDA"))


def test_input_sets_for_which_there_is_no_room_are_left_away_but_for_the_first() -> None:
    def stage(session: Full) -> int:
        return Stopwatch(session, ModelSpec((), "float32"), "ieee").stage(SETS, (True, False))  # type: ignore[arg-type]

    assert stage(Full(2)) == 2 and stage(Full(1)) == 1
    with pytest.raises(NotTimedError, match="OutOfMemoryError: CUDA"):
        stage(Full(0))
    with pytest.raises(NotTimedError):
        stage(Full(1, status="crashed"))


FORGED = """
import gc, torch
def forge():
    for item in gc.get_objects():
        if type(item).__name__ == "Clock":
            item.take = lambda: {answer}
"""


@pytest.mark.parametrize(
    "answer", ["[float('nan')] * 3", "[0.1] * 2", "[-1.0] * 3", "['1'] * 3", "None", "[1e300] * 3", "[True] * 3"]
)
def test_a_forged_answer_breaks_the_protocol(start: Start, answer: str) -> None:
    stopwatch = staged(start(file=forward("forge()\nreturn x", head=FORGED.format(answer=answer))))
    with pytest.raises(NotTimedError, match="broke the protocol"):
        stopwatch.run(trials(3))


# What is believed


def honest() -> dict[str, Any]:
    return {"ms": [0.5, 1, 0], "kept_bytes": 12, "state_bytes": 0}


def test_an_honest_answer_becomes_a_batch() -> None:
    batch = batch_of(Frame(honest()), 3, 0.25)
    assert batch.ms == (0.5, 1.0, 0.0) and batch.seconds == 0.25 and batch.kept_bytes == 12


@pytest.mark.parametrize(
    ("field", "lie"),
    [
        ("ms", [0.5, 1.0]),
        ("ms", [0.5] * 4),
        ("ms", [math.nan, 1.0, 1.0]),
        ("ms", [math.inf, 1.0, 1.0]),
        ("ms", [-0.1, 1.0, 1.0]),
        ("ms", [True, 1.0, 1.0]),
        ("ms", ["1", 1.0, 1.0]),
        ("ms", [10**400, 1.0, 1.0]),
        ("ms", [1e9, 1.0, 1.0]),
        ("ms", None),
        ("ms", {"0": 1.0}),
        ("kept_bytes", -1),
        ("kept_bytes", None),
        ("kept_bytes", 1.0),
        ("state_bytes", True),
        ("state_bytes", 1 << 70),
    ],
)
def test_a_lie_is_refused(field: str, lie: object) -> None:
    with pytest.raises(FrameError):
        batch_of(Frame({**honest(), field: lie}), 3, 0.0)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)


@given(st.sampled_from(sorted(honest())), JUNK)
def test_junk_is_refused_or_harmless(field: str, junk: object) -> None:
    try:
        batch = batch_of(Frame({**honest(), field: junk}), 3, 0.0)
    except FrameError:
        return
    assert all(math.isfinite(ms) and ms >= 0 for ms in batch.ms) and batch.kept_bytes >= 0 and batch.state_bytes >= 0
