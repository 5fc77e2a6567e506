"""Record: what a study has to say of one job."""

from __future__ import annotations

from typing import Any, Protocol


class Record(Protocol):
    """What the records of all studies have in common."""

    @property
    def id(self) -> str:
        """The job's."""

    @property
    def seconds(self) -> float:
        """How long it took to find out."""

    @property
    def failed(self) -> bool:
        """Something failed in kcbench itself: examining the job again is worth a try."""

    def to_json(self) -> dict[str, Any]:
        """As JSON, without the id."""
