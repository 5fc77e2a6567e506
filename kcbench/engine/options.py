"""How a run is made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import torch

from kcbench import __version__
from kcbench.domain.submission import Submission
from kcbench.domain.task import Task
from kcbench.errors import KcbenchError
from kcbench.legacy import kernelbench
from kcbench.runtime import Limits

LEGACY = tuple(kernelbench.TOLERANCES)
"""The legacy checks that there are."""

BASELINES = ("eager", "eager-tf32", "compile")
"""What submissions can be timed against: the task's own model with float32, with tf32 matrix products, and compiled."""


@dataclass(frozen=True)
class Options:
    """How a run is made. Everything that can change a verdict is in :meth:`key`."""

    seed: str
    """Secret of the run: all inputs follow from it."""
    device: str = "cpu"
    """``cpu`` or ``cuda``."""
    jobs: int = 1
    bounds: str = "stochastic"
    gates: tuple[str, ...] = ()
    """Gate ids to judge; empty means all."""
    legacy: tuple[str, ...] = LEGACY
    limits: Limits = field(default_factory=Limits)
    timing: tuple[str, ...] = ()
    """Baselines that submissions are timed against, of :data:`BASELINES`; empty for no timing."""

    def key(self, task: Task, submission: Submission) -> str:
        """Digest of what a result depends on: resume skips results whose key is in the journal."""
        parts = [
            __version__,
            task.digest,
            submission.id,
            submission.digest,
            submission.entry,
            self.seed,
            self.device,
            self.bounds,
            ",".join(self.gates),
            ",".join(self.legacy),
            ",".join(self.timing),
            dict(submission.origin),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def resolve_device(wanted: str) -> str:
    """``auto``, ``cpu`` or ``cuda`` to what this machine has.

    Raises:
        KcbenchError: ``cuda`` was asked for and torch sees no GPU.
    """
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        raise KcbenchError("torch sees no GPU", where="--device cuda", fix="use --device cpu, or install a CUDA build of torch")
    if wanted not in ("cpu", "cuda"):
        raise KcbenchError(f"unknown device {wanted!r}", where="--device", fix="use auto, cpu or cuda")
    return wanted
