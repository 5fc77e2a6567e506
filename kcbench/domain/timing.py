"""Timing: how long a call of a submission takes, beside the eager model's calls, and what speaks against the number."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

CLOCK_MISMATCH = "clock-mismatch"
TIMED_OUTPUT_WRONG = "timed-output-wrong"
FASTER_THAN_ROOFLINE = "faster-than-roofline"
EXCESSIVE_SPEEDUP = "excessive-speedup"

FLAGS: Mapping[str, str] = {
    CLOCK_MISMATCH: "the calls took far longer by the grader's clock than by the device's: work that the latter did not see",
    TIMED_OUTPUT_WRONG: "a timed call returned something else than the answer to its own inputs",
    FASTER_THAN_ROOFLINE: "faster than the device can read the inputs and write the outputs",
    EXCESSIVE_SPEEDUP: "more than ten times as fast as the eager model",
}
"""What a flag means. A flag refuses nothing; a timing with one is not to be trusted unseen."""


@dataclass(frozen=True)
class Stats:
    """How long one call took, in milliseconds."""

    median_ms: float
    mean_ms: float
    std_ms: float
    """Standard deviation of these trials (divided by their number, as KernelBench does it)."""
    min_ms: float
    max_ms: float
    trials: int

    @classmethod
    def of(cls, times: Sequence[float]) -> Stats:
        """The statistics of at least one time.

        Args:
            times: Milliseconds, one entry per call.
        """
        return Stats(
            statistics.median(times), statistics.fmean(times), statistics.pstdev(times), min(times), max(times), len(times)
        )

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**_numbers(data))


@dataclass(frozen=True)
class Timing(Stats):
    """The timing of one submission: its own statistics, and everything to judge them by."""

    baselines: Mapping[str, Stats] = field(default_factory=dict)
    """By name: ``eager`` (float32 products in float32), ``eager-tf32``, ``compile``. Measured in the same run in the same way."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Baselines that were asked for and could not be measured, with the reason."""
    flags: tuple[str, ...] = ()
    """What speaks against the numbers, of :data:`FLAGS`."""
    device: str = ""
    """What the device calls itself."""
    size: str = "full"
    """``full``: the task's own sizes; ``capped``: smaller ones, since those do not fit; ``reduced``: the contract's legacy sizes,
    on a CPU. The same as those of the legacy check."""
    host_ms: float = 0.0
    """What a call took by the grader's clock, in milliseconds: the least of several batches, without what surrounds the call."""
    floor_ms: float | None = None
    """Milliseconds in which the device could at best move the inputs, parameters and outputs; None where that says nothing."""
    checked: int = 0
    """Outputs of timed calls that were judged."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """How it was measured, and the evidence for the flags."""

    def speedup(self, baseline: str = "eager") -> float | None:
        """How many times as fast as a baseline: median over median. None without that baseline, or a measurable time."""
        known = self.baselines.get(baseline)
        return known.median_ms / self.median_ms if known is not None and self.median_ms > 0 else None

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "baselines": {name: stats.to_json() for name, stats in self.baselines.items()},
            "absent": dict(self.absent),
            "flags": list(self.flags),
            "detail": dict(self.detail),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        baselines = {name: Stats.from_json(stats) for name, stats in data["baselines"].items()}
        return cls(**{**_numbers(data), "baselines": baselines, "flags": tuple(data["flags"])})


def _numbers(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data with every time as a float: those that JSON cannot hold arrive as the strings ``nan``, ``inf`` and ``-inf``."""
    return {name: float(value) if name.endswith("_ms") and value is not None else value for name, value in data.items()}
