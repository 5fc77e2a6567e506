"""Variant: one honest implementation of a task, as source text."""

from __future__ import annotations

from dataclasses import dataclass

TORCH = "torch"
TRITON = "triton"


@dataclass(frozen=True)
class Variant:
    """One way in which a right kernel for a task may be written."""

    id: str
    """``<task>/<language>-<block>-<block>...``, unique in the ensemble."""
    task: str
    """Task id, for example ``level1/softmax``."""
    language: str
    """``torch`` or ``triton``."""
    source: str
    """A complete submission with a class ``ModelNew``."""
    blocks: tuple[str, ...]
    """What it was put together from: order of summation, formula, library call, layout, backward pass."""

    @property
    def group(self) -> str:
        """Its task and language: variants of one group are put to the same cases and probes."""
        return f"{self.task}/{self.language}"
