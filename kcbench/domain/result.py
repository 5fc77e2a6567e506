"""Result: everything that a run says about one submission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kcbench.domain import verdict as v
from kcbench.domain.timing import Timing
from kcbench.domain.verdict import Verdict


@dataclass(frozen=True)
class LegacyScore:
    """What a published check says of the same submission."""

    check: str
    """``kernelbench-v0`` or ``kernelbench-v1``."""
    compiled: bool
    correct: bool
    trials: str = ""
    """``"(p / n)"``, as KernelBench writes it."""
    max_difference: tuple[float, ...] = ()
    reason: str = ""
    size: str = "full"
    """``full``: the task's own sizes; ``capped``: the largest below them that can be held and sent; ``reduced``: the contract's
    legacy sizes, on a CPU."""

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "compiled": self.compiled,
            "correct": self.correct,
            "trials": self.trials,
            "max_difference": list(self.max_difference),
            "reason": self.reason,
            "size": self.size,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LegacyScore:
        return cls(**{**data, "max_difference": tuple(data["max_difference"])})


@dataclass(frozen=True)
class Result:
    """One submission on one task: legacy scores, guard findings and twelve verdicts."""

    key: str
    """Digest of task, contract, submission, kcbench version, device and seed: what resume compares."""
    submission: Mapping[str, Any]
    """:meth:`kcbench.domain.submission.Submission.to_json`."""
    status: str
    """``scored``; ``unloadable`` (its file or import failed: a loud refusal); ``skipped`` (this machine cannot run it: no
    verdict);
    ``error`` (the harness failed: no verdict)."""
    reason: str = ""
    legacy: tuple[LegacyScore, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """The ``GUARD`` verdict first, then the twelve gates in their order."""
    labels: tuple[str, ...] = ()
    """The language, ``interpreted``, ``packs-weights``, ``seeded-weights``, ``partial`` (not all gates were asked),
    ``unlaunched`` (it has Triton kernels, or claims them, and none was seen to run)."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds that scoring took, by phase; with ``timing``, the only part that differs between two runs of one seed."""
    timing: Timing | None = None
    """How fast the kernel is; taken of refused kernels too. None where no timing was asked for, or none could be taken."""
    untimed: str = ""
    """Why no timing could be taken, in one line; empty where one was, or where none was asked for."""

    @property
    def id(self) -> str:
        return str(self.submission["id"])

    @property
    def task(self) -> str:
        return str(self.submission["task"])

    @property
    def refused(self) -> bool:
        """True when a gate or a guard refused it, or it could not be loaded."""
        return self.status == "unloadable" or any(verdict.status == v.FAIL for verdict in self.verdicts)

    @property
    def clean(self) -> bool:
        """True when it was scored, nothing refused it, and the harness answered for every gate."""
        return self.status == "scored" and not any(verdict.status in (v.FAIL, v.ERROR) for verdict in self.verdicts)

    @property
    def codes(self) -> tuple[str, ...]:
        """All failure codes as ``GATE.code``."""
        return tuple(code for verdict in self.verdicts for code in verdict.codes)

    def verdict(self, gate: str) -> Verdict | None:
        """The verdict of a gate by id, or None."""
        return next((item for item in self.verdicts if item.gate == gate), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "submission": dict(self.submission),
            "status": self.status,
            "reason": self.reason,
            "legacy": [score.to_json() for score in self.legacy],
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "labels": list(self.labels),
            "environment": dict(self.environment),
            "timings": dict(self.timings),
            "timing": None if self.timing is None else self.timing.to_json(),
            "untimed": self.untimed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        return cls(
            data["key"],
            data["submission"],
            data["status"],
            data["reason"],
            tuple(LegacyScore.from_json(item) for item in data["legacy"]),
            tuple(Verdict.from_json(item) for item in data["verdicts"]),
            tuple(data["labels"]),
            data["environment"],
            data["timings"],
            # Results of before there was a timing have neither.
            None if data.get("timing") is None else Timing.from_json(data["timing"]),
            data.get("untimed", ""),
        )
