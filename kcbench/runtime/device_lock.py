"""Who may use the device: many at a time, or one alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class DeviceLock:
    """A reader-writer lock: ordinary calls share the device, a measurement has it to itself.

    Whoever waits to have it alone goes before those who come later to share it, so that a busy run is still timed. The thread
    that has it alone shares it with itself; otherwise neither way may be entered twice by one thread.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = 0
        self._waiting = 0
        self._owner: int | None = None

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Use the device beside others; waits while somebody has it alone, or waits for that."""
        if self._owner == threading.get_ident():
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self._owner is None and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the device to oneself; waits until the calls that are under way are done."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._owner is None and not self._sharing)
            finally:
                self._waiting -= 1
                self._changed.notify_all()
            self._owner = threading.get_ident()
        try:
            yield
        finally:
            with self._changed:
                self._owner = None
                self._changed.notify_all()
