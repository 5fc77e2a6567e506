"""How a timing is made up: warm-up, how many calls there is time for, and what two clocks say."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import pytest

from kcbench.engine.series import Clocks, Effort, Series
from kcbench.engine.workload import Workload
from kcbench.runtime.stopwatch import Batch, Trial
from kcbench.runtime.worker.timing import STEPS
from kcbench.tasks import load_task

EFFORT = Effort()


class Fake:
    """A stopwatch whose calls take as long as it is told."""

    def __init__(self, ms: float = 1.0, *, hidden_ms: float = 0.0, around_ms: float = 0.1, kept_bytes: int = 4) -> None:
        self.ms, self.hidden_ms, self.around_ms, self.kept_bytes = ms, hidden_ms, around_ms, kept_bytes
        self.calls: list[int] = []

    def run(self, trials: Sequence[Trial], *, call: bool = True, seconds: float | None = None) -> Batch:
        count = len(trials)
        self.calls += [count] if call else []
        each = self.around_ms + (self.ms + self.hidden_ms if call else 0.0)
        return Batch((self.ms,) * count, each * count / 1e3, self.kept_bytes, 0)


def series(fake: Fake, effort: Effort = EFFORT) -> Series:
    return Series(fake, itertools.cycle([Trial(0, 1, 0)]), effort)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ms", "kept", "size"),
    [
        (0.01, 4, (4, 25)),
        (60.0, 4, (4, 25)),
        (100.0, 4, (2, 25)),
        (3000.0, 4, (4, 3)),
        (20_000.0, 4, (10, 1)),
        (0.01, 1 << 28, (25, 4)),
        (0.01, 1 << 40, (100, 1)),
    ],
)
def test_there_is_time_for_so_many_calls(ms: float, kept: int, size: tuple[int, int]) -> None:
    made = series(Fake(ms, around_ms=0.0, kept_bytes=kept))
    made.first()
    made.warm_up()
    assert made.size == size and (size[0] * size[1]) >= EFFORT.fewest


def test_a_warm_up_makes_three_calls_and_takes_its_time() -> None:
    slow, quick = Fake(1000.0), Fake(1.0)
    for fake in (slow, quick):
        series(fake).warm_up()
    assert slow.calls == [3] and sum(quick.calls) * 1.1e-3 >= EFFORT.warm_seconds


def test_a_warm_up_waits_until_times_have_settled() -> None:
    class Settling(Fake):
        def run(self, trials: Sequence[Trial], *, call: bool = True, seconds: float | None = None) -> Batch:
            self.ms = max(self.ms * 0.8, 10.0)
            return super().run(trials, call=call, seconds=seconds)

    fake = Settling(200.0)
    made = series(fake, dataclasses.replace(EFFORT, warm_limit=100.0))
    made.warm_up()
    assert fake.ms == 10.0 and made.size[0] * made.size[1] == 100
    endless = Settling(1e6)
    series(endless).warm_up()
    assert len(endless.calls) == 1


def clocks(fake: Fake, rounds: int = 4) -> Clocks:
    made = series(fake)
    for _ in range(rounds):
        made.round(25)
        made.surround(25)
    return made.clocks()


@pytest.mark.parametrize(("ms", "hidden", "disagree"), [(1.0, 0.0, False), (1.0, 0.5, False), (1.0, 5.0, True), (0.0, 0.5, True)])
def test_hidden_work_is_a_disagreement(ms: float, hidden: float, disagree: bool) -> None:
    seen = clocks(Fake(ms, hidden_ms=hidden))
    assert seen.host_ms == pytest.approx(ms + hidden) and seen.device_ms == pytest.approx(ms)
    assert seen.disagree(slack_ms=0.05, once_ms=1.0) is disagree


def test_one_disturbed_batch_is_no_disagreement() -> None:
    class Disturbed(Fake):
        def run(self, trials: Sequence[Trial], *, call: bool = True, seconds: float | None = None) -> Batch:
            batch = super().run(trials, call=call, seconds=seconds)
            return dataclasses.replace(batch, seconds=batch.seconds + (5.0 if len(self.calls) == 2 else 0.0))

    assert not clocks(Disturbed(1.0), rounds=5).disagree(slack_ms=0.05, once_ms=1.0)


def test_what_surrounds_the_calls_is_taken_off() -> None:
    assert clocks(Fake(1.0, around_ms=50.0)).host_ms == pytest.approx(1.0)


# What the trials are


def test_a_workload_is_new_to_everybody_and_follows_from_the_seed() -> None:
    task = load_task("level1/softmax")
    one, same, other = (Workload.of(task, seed=seed, device="cpu") for seed in ("a", "a", "b"))
    tensors = [[args[0].tensor for args in made.sets] for made in (one, same, other)]  # type: ignore[union-attr]
    assert all(a.equal(b) for a, b in zip(tensors[0], tensors[1], strict=True)) and not tensors[0][0].equal(tensors[2][0])
    assert len({tuple(tensor.flatten()[:8].tolist()) for made in (tensors[0], tensors[2]) for tensor in made}) == 8
    assert one.scaled == (True,) and one.input_bytes == tensors[0][0].nbytes


def test_no_trial_comes_twice_before_all_have_come() -> None:
    workload = Workload.of(load_task("level1/relu"), seed="a", device="cpu")
    every = (STEPS // 2 - 1) * len(workload.sets)
    first = list(itertools.islice(workload.trials("x"), every))
    assert len(set(first)) == every and first != list(itertools.islice(workload.trials("y"), every))
    assert all(0 < trial.step < STEPS // 2 for trial in first)
    assert {trial.chosen for trial in itertools.islice(workload.trials("x", sets=1), 500)} == {0}


def test_what_a_contract_ties_down_is_not_scaled() -> None:
    workload = Workload.of(load_task("level4/gated_delta_rule"), seed="a", device="cpu")
    assert workload.scaled == (True, False, True, False, False)
    assert Workload.of(load_task("level1/cross_entropy"), seed="a", device="cpu").scaled == (True, False)
