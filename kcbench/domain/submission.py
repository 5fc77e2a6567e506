"""Submission: a candidate kernel as source text. It is never imported here, only parsed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Submission:
    """One candidate for one task."""

    id: str
    """Unique within a run: the path below the folder given, without ``.py``."""
    task: str
    """Task id, for example ``level1/softmax``."""
    source: str
    path: str
    entry: str = "ModelNew"
    """Name of the class that is scored."""
    author: str = ""
    language: str = "torch"
    """``triton``, ``cuda`` or ``torch``."""
    packs_weights: bool = False
    """The header says that weights are packed in the constructor: they are not redrawn afterwards, and the result is labelled."""
    problem: str = ""
    """Why it cannot be scored (syntax error, no entry class, ...); empty when it can."""
    header: Mapping[str, str] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Its place in a published suite: ``suite``, ``level``, ``problem_id`` and ``sample_id``, the last three None where they
    could not be told; empty where it comes from none."""

    @property
    def digest(self) -> str:
        """SHA-256 of the source text."""
        return hashlib.sha256(self.source.encode("utf-8", "surrogateescape")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Everything but the source text, with its digest."""
        return {
            "id": self.id,
            "task": self.task,
            "path": self.path,
            "digest": self.digest,
            "entry": self.entry,
            "author": self.author,
            "language": self.language,
            "packs_weights": self.packs_weights,
            "problem": self.problem,
            "origin": dict(self.origin),
        }
