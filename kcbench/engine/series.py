"""One model's timing while it is taken: warm-up, how many calls there is time for, batches, and what the two clocks say."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from kcbench.domain.timing import Stats
from kcbench.runtime.stopwatch import Batch, Stopwatch, Trial


@dataclass(frozen=True)
class Effort:
    """How much time a timing may take. A call that is slow enough overrides it: ten of them are always made."""

    trials: int = 100
    """Calls, where there is time for so many."""
    fewest: int = 10
    seconds: float = 5.0
    """Time for the calls of one model, with what surrounds each of them."""
    warm_calls: int = 3
    warm_seconds: float = 0.2
    """The warm-up takes at least this long."""
    warm_limit: float = 1.0
    """The warm-up ends after so many seconds even if times have not settled."""
    settled: float = 0.05
    """Two batches of the warm-up whose medians differ by no more than this part have settled."""
    batch: int = 25
    """Calls in one request, where there is room for their outputs."""
    batch_seconds: float = 10.0
    """Longest request."""
    kept_bytes: int = 1 << 30
    """Size of the outputs that a worker keeps of one batch."""


@dataclass(frozen=True)
class Clocks:
    """What a call took by the device's clock and by the grader's: medians over batches, whose parts are means."""

    device_ms: float
    host_ms: float
    """Without what surrounds the call, as batches without calls show it."""
    noise_ms: float
    """How uncertain that is: four times the median deviation of the batches without calls from their median."""
    calls: int
    """Calls in a batch: what disturbs the grader's clock once in a batch is divided by it."""

    def disagree(self, *, slack_ms: float, once_ms: float) -> bool:
        """Whether the grader saw a call last more than twice as long as the device did, and not by a trifle.

        Args:
            slack_ms: What starting one call may add.
            once_ms: What one request may add.
        """
        return self.host_ms > 2 * self.device_ms + self.noise_ms + slack_ms + once_ms / self.calls


class Series:
    """The timed calls of one model.

    Args:
        stopwatch: Its stopwatch, with the inputs staged.
        trials: Where the inputs of the calls come from.
        effort: How much time it may take.
    """

    def __init__(self, stopwatch: Stopwatch, trials: Iterator[Trial], effort: Effort) -> None:
        self.stopwatch, self._trials, self._effort = stopwatch, trials, effort
        self._times: list[float] = []
        self._batches: list[Batch] = []
        self._around: list[float] = []
        self._estimate = 0.0
        self.kept_bytes = 0
        self.state_bytes = 0

    def first(self, seconds: float | None = None) -> None:
        """Make the first call, which compiles and tunes.

        Args:
            seconds: Time allowed; that of an ordinary call if not given.

        Raises:
            NotTimedError: It failed.
        """
        batch = self.stopwatch.run(self._next(1), seconds=seconds)
        self.kept_bytes, self.state_bytes, self._estimate = batch.kept_bytes, batch.state_bytes, batch.seconds

    def warm_up(self) -> None:
        """Make calls until their times have settled.

        Raises:
            NotTimedError: One failed.
        """
        effort, spent, last = self._effort, 0.0, None
        while True:
            count = effort.warm_calls
            batch = self.stopwatch.run(self._next(count), seconds=self._patience(count))
            spent += batch.seconds
            median = statistics.median(batch.ms)
            self._estimate = batch.seconds / count
            settled = last is not None and abs(median - last) <= effort.settled * max(median, last)
            if spent >= effort.warm_limit or (spent >= effort.warm_seconds and settled):
                return
            last = median

    @property
    def size(self) -> tuple[int, int]:
        """How many batches there is time for, and how many calls each has."""
        effort = self._effort
        each = max(self._estimate, 1e-6)
        count = min(max(int(effort.seconds / each), effort.fewest), effort.trials)
        in_time = max(int(effort.batch_seconds / each), 1)
        in_memory = max(effort.kept_bytes // max(self.kept_bytes, 1), 1)
        calls = min(effort.batch, count, in_time, in_memory)
        return -(-count // calls), calls

    def round(self, calls: int) -> list[Trial]:
        """Time a batch, and a batch without calls; returns the trials of the batch, whose outputs are kept until the next one.

        Raises:
            NotTimedError: A call failed.
        """
        trials = self._next(calls)
        batch = self.stopwatch.run(trials, seconds=self._patience(calls))
        self._batches.append(batch)
        self._times += batch.ms
        return trials

    def surround(self, calls: int) -> None:
        """Let the grader's clock see what surrounds the calls of a batch: everything but the calls.

        Raises:
            NotTimedError: The worker failed.
        """
        self._around.append(self.stopwatch.run(self._next(calls), call=False).seconds / calls)

    def glance(self, calls: int) -> list[float]:
        """Milliseconds of a few calls that do not count."""
        return list(self.stopwatch.run(self._next(calls), seconds=self._patience(calls)).ms)

    @property
    def stats(self) -> Stats:
        return Stats.of(self._times)

    def clocks(self) -> Clocks:
        """What the two clocks say. Medians, as for the result itself: what most batches show is what counts."""
        device = statistics.median(statistics.fmean(batch.ms) for batch in self._batches)
        host = statistics.median(batch.seconds / len(batch.ms) for batch in self._batches)
        around = statistics.median(self._around)
        noise = 4 * statistics.median(abs(item - around) for item in self._around)
        return Clocks(device, max(host - around, 0.0) * 1e3, noise * 1e3, len(self._batches[0].ms))

    def forget(self) -> None:
        """Drop what was measured, and keep what the warm-up found."""
        self._times, self._batches, self._around = [], [], []

    def _next(self, count: int) -> list[Trial]:
        return list(itertools.islice(self._trials, count))

    def _patience(self, calls: int) -> float:
        """Seconds for a request: far more than it should take, so that the limit only ends what hangs."""
        return 30.0 + 4.0 * calls * self._estimate
