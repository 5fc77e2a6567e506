"""Operator: one way to plant a fault, wherever in a program it finds a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kcbench.mutants.change import Change
from kcbench.mutants.program import Program


@dataclass(frozen=True)
class Operator:
    """A named way to plant faults of one class."""

    name: str
    """Unique, for example ``compare-edge``."""
    fault: str
    """Fault class, the same for all operators of a module."""
    changes: Callable[[Program], Iterator[Change]]
    """Proposes changes; those that alter nothing, or what another has done, are dropped by the caller."""
