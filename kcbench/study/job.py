"""Job: a kernel of our own that a study examines."""

from __future__ import annotations

from typing import Protocol


class Job(Protocol):
    """What a study has to know of a kernel to hand it to a process."""

    @property
    def id(self) -> str:
        """Unique in the study."""

    @property
    def task(self) -> str:
        """The id of its task."""

    @property
    def group(self) -> str:
        """What it shares most with: jobs of one group need the same things found out before them."""

    @property
    def language(self) -> str:
        """``torch`` or ``triton``."""
