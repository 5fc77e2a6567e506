"""The machine as the sessions of one pool share it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Self

from kcbench.runtime.build import build_jobs, parallel_builds
from kcbench.runtime.device_lock import DeviceLock


@dataclass(frozen=True)
class Site:
    """The device, and who may use what of the machine when."""

    device: str
    """What ``torch.device`` takes."""
    build_jobs: int
    """Compilers that one session may start at a time."""
    builds: threading.Semaphore
    """Held while a session builds an extension."""
    device_lock: DeviceLock = field(default_factory=DeviceLock)

    @classmethod
    def of(cls, device: str, slots: int) -> Self:
        """The site of a pool.

        Args:
            device: What ``torch.device`` takes.
            slots: How many sessions are expected to be open at a time.
        """
        return cls(device, build_jobs(slots), threading.Semaphore(parallel_builds()))
