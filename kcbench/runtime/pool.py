"""A pool of fork servers: what sessions are opened from."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import weakref
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from kcbench.errors import KcbenchError
from kcbench.runtime.call import Limits
from kcbench.runtime.forkserver import ForkServer, ServerDiedError
from kcbench.runtime.line import Line
from kcbench.runtime.session import WorkerSession
from kcbench.runtime.site import Site


class Slot:
    """Two fork servers, one for interpreted and one for compiled mode, started when first needed.

    Submissions use a slot one at a time, so that one which kills its fork server harms no other.

    Triton decides at import which mode it runs in, so a process that has imported it can serve one mode only.
    """

    def __init__(self, folder: Path) -> None:
        self._servers = {mode: ForkServer(folder, interpret=mode) for mode in (False, True)}

    def server(self, interpret: bool) -> ForkServer:
        """The running fork server of a mode; started anew where it has died."""
        server = self._servers[interpret]
        server.launch()
        if interpret:
            # What is interpreted will be compiled too: let the other one import meanwhile.
            self._servers[False].launch()
        server.start()
        return server

    def open_line(self, interpret: bool, folder: Path, *, device: str, limits: Limits, build_jobs: int) -> Line:
        """Fork a worker, as :meth:`Line.open` does; from a new fork server where the old one turns out to be of no use.

        Raises:
            ServerDiedError: The new one is gone too.
        """
        try:
            return Line.open(self.server(interpret), folder, device=device, limits=limits, build_jobs=build_jobs)
        except ServerDiedError:
            return Line.open(self.server(interpret), folder, device=device, limits=limits, build_jobs=build_jobs)

    def close(self) -> None:
        for server in self._servers.values():
            server.close()


class WorkerPool:
    """Opens sessions. Several threads may use one pool, each its own sessions.

    Args:
        device: Where submissions run: ``cpu``, ``cuda`` or ``cuda:<index>``.
        limits: What each of them may use.
        slots: How many sessions are expected to be open at a time: so many slots are kept when they are free.
    """

    def __init__(self, device: str = "cpu", limits: Limits | None = None, *, slots: int = 1) -> None:
        if sys.platform != "linux":
            raise KcbenchError("workers need Linux: fork, /proc and child subreapers", fix="use a container or a virtual machine")
        self.device, self.limits = device, limits or Limits()
        self._keep = slots
        self._site = Site.of(device, slots)
        self._folder = Path(tempfile.mkdtemp(prefix="kcbench-"))
        self._lock = threading.Lock()
        self._slots: list[Slot] = []
        self._free: list[Slot] = []
        self._trusted: Slot | None = None
        self._open: dict[WorkerSession, Slot | None] = {}
        self._made = 0
        self._closed = False
        self._finalizer = weakref.finalize(self, _clean, self._folder, self._slots)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def open(
        self,
        source: str,
        entry: str = "ModelNew",
        *,
        interpret: bool = False,
        builds: bool = False,
        limits: Limits | None = None,
        trusted: bool = False,
    ) -> WorkerSession:
        """Open a session for a submission. The worker is started by :meth:`WorkerSession.load` or the first call.

        Args:
            source: The submission's source text.
            entry: Name of the class to call.
            interpret: Run Triton kernels in Triton's interpreter.
            builds: It builds an extension: its import and first call may take ``build_seconds``, and few of them build at a time.
            limits: Other limits than the pool's.
            trusted: The source is no submission but a task's own: such sessions share one slot, which no submission can harm,
                and may be kept open in number.

        Raises:
            RuntimeError: The pool is closed.
        """
        allowed = limits or self.limits

        def open_line(mode: bool, device: str) -> Line:
            slot = self._slot(session, trusted=trusted)
            return slot.open_line(mode, folder, device=device, limits=allowed, build_jobs=self._site.build_jobs)

        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._made += 1
            folder = self._folder / f"session-{self._made}"
            folder.mkdir()
            session = WorkerSession(
                source,
                entry=entry,
                interpret=interpret,
                builds=builds,
                site=self._site,
                limits=allowed,
                folder=folder,
                open_line=open_line,
                release=lambda: self._take_back(session),
            )
            self._open[session] = None
        return session

    def alone(self) -> AbstractContextManager[None]:
        """Have the device to oneself: requests of other threads wait until the block ends, and it begins when theirs are done.

        Compilers that build an extension go on: they do not use the device.
        """
        return self._site.device_lock.alone()

    def _slot(self, session: WorkerSession, *, trusted: bool) -> Slot:
        """The slot of a session, which gets one when it first starts a worker."""
        with self._lock:
            slot = self._open[session]
            if slot is None:
                slot = self._trusted if trusted else self._free.pop() if self._free else None
            if slot is None:
                self._made += 1
                home = self._folder / f"slot-{self._made}"
                home.mkdir()
                slot = Slot(home)
                self._slots.append(slot)
                if trusted:
                    self._trusted = slot
            self._open[session] = slot
            return slot

    def _take_back(self, session: WorkerSession) -> None:
        with self._lock:
            slot = self._open.pop(session)
            if slot is None or slot is self._trusted:
                return
            if not self._closed and len(self._free) < self._keep:
                self._free.append(slot)
                return
            self._slots.remove(slot)
        slot.close()

    def close(self) -> None:
        """Close all sessions, end all processes and remove all files."""
        with self._lock:
            self._closed = True
        for session in list(self._open):
            session.close()
        self._finalizer()


def _clean(folder: Path, slots: list[Slot]) -> None:
    for slot in slots:
        slot.close()
    shutil.rmtree(folder, ignore_errors=True)
