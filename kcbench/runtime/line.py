"""The line to one worker: a request and its answer, under a clock and a watchdog."""

from __future__ import annotations

import secrets
import selectors
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kcbench.runtime.call import Limits
from kcbench.runtime.forkserver import Child, ForkServer, ServerDiedError
from kcbench.runtime.limits import INTERVAL, Watchdog
from kcbench.runtime.worker import frames

BROKE = "broke the protocol"
GRACE = 2.0
"""Seconds between a closed connection and the report of how the worker ended."""
HEADROOM = 4 << 30
"""Address space beyond the memory limit, for stacks, arenas and libraries that are mapped but not used."""
FOLDERS = {"work": None, "home": "HOME", "tmp": "TMPDIR", "extensions": "TORCH_EXTENSIONS_DIR", "triton": "TRITON_CACHE_DIR"}
"""Folders of a session, and the variables that name them. Caches too are a session's own: in a shared one a submission could
leave a kernel for the next one to find."""


@dataclass(frozen=True)
class Failure:
    """Why there is no answer."""

    status: str
    """``crashed``, ``timeout`` or ``memory``."""
    detail: str


class Line:
    """The connection to one worker. After a failure the worker is to be ended with :meth:`end`."""

    @classmethod
    def open(cls, server: ForkServer, folder: Path, *, device: str, limits: Limits, build_jobs: int) -> Self:
        """Fork a worker.

        Args:
            server: Whose worker.
            folder: Where the session's folders are made.
            device: What ``torch.device`` takes.
            limits: What it may use. The address space is limited without CUDA only, which reserves far more than it uses.
            build_jobs: Compilers that it may start at a time to build an extension.

        Raises:
            ServerDiedError: The fork server is gone.
        """
        for name in FOLDERS:
            (folder / name).mkdir(exist_ok=True)
        environment = {variable: str(folder / name) for name, variable in FOLDERS.items() if variable}
        environment["MAX_JOBS"] = str(build_jobs)
        space = None if device.startswith("cuda") else limits.memory_bytes + HEADROOM
        child = server.fork(folder=folder / "work", environment=environment, address_space=space, device=device)
        return cls(server, child, limits)

    def __init__(self, server: ForkServer, child: Child, limits: Limits) -> None:
        self._server, self._child = server, child
        self._watchdog = Watchdog(child.pid, server.pid, limits.memory_bytes, limits.max_processes)
        self._ended = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(child.connection, selectors.EVENT_READ, "answer")
        self._selector.register(child.tail.descriptor, selectors.EVENT_READ, "output")
        server.register(self._selector)

    @property
    def log(self) -> str:
        """The end of what the worker printed so far."""
        if not self._ended:
            self._child.tail.drain()
        return self._child.tail.text

    def end(self) -> None:
        """End the worker and everything that it started."""
        self._ended = True
        self._selector.close()
        self._server.end(self._child)

    def ask(self, header: Mapping[str, Any], tensors: Iterable[frames.Named], seconds: float) -> frames.Frame | Failure:
        """Send a request and wait for its answer.

        Args:
            header: The request; a nonce is added, which the answer must repeat.
            tensors: What travels with it; its memory must stay alive until the answer is here.
            seconds: Time allowed.

        Raises:
            FrameError: The request is too large to travel.
        """
        nonce = secrets.token_hex(8)
        writer = frames.Writer(frames.encode({**header, "nonce": nonce}, tensors))
        start = time.monotonic()
        unasked = self._peek()
        if unasked is not None:
            return self._gone() if unasked == b"" else Failure("crashed", BROKE)
        found = self._converse(writer, start + seconds)
        if isinstance(found, Failure):
            return Failure(found.status, found.detail or f"no answer within {seconds:.3g} s")
        if found.header.get("nonce") != nonce or self._peek():
            return Failure("crashed", BROKE)
        return found

    def _peek(self) -> bytes | None:
        """A byte that is there without having been asked for, ``b""`` at the end of the stream, or None."""
        try:
            return self._child.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _converse(self, writer: frames.Writer, limit: float) -> frames.Frame | Failure:
        reader = frames.Reader()
        connection = self._child.connection
        sent = self._write(writer)
        if not sent:
            self._selector.modify(connection, selectors.EVENT_READ | selectors.EVENT_WRITE, "answer")
        while True:
            for key, events in self._selector.select(max(min(INTERVAL, limit - time.monotonic()), 0.0)):
                if key.data == "output":
                    if not self._child.tail.drain():
                        self._selector.unregister(key.fileobj)
                elif key.data == "control":
                    try:
                        self._server.pump()
                    except ServerDiedError:
                        return self._lost()
                else:
                    if events & selectors.EVENT_WRITE and not sent:
                        sent = self._write(writer)
                        if sent:
                            self._selector.modify(connection, selectors.EVENT_READ, "answer")
                    if events & selectors.EVENT_READ:
                        try:
                            frame = self._read(reader)
                        except frames.FrameError:
                            return Failure("crashed", BROKE)
                        except (EOFError, OSError):
                            return self._gone()
                        if frame is not None:
                            return frame if sent else Failure("crashed", BROKE)
            if self._child.status is not None:
                return self._gone()
            alarm = self._watchdog.look(lambda: self._server.siblings(self._child))
            if alarm is not None:
                return Failure(*alarm)
            if time.monotonic() >= limit:
                return Failure("timeout", "")

    def _write(self, writer: frames.Writer) -> bool:
        """Send what goes now; a closed connection is left for the reading side to report."""
        try:
            while not writer.write(self._child.connection):
                pass
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _read(self, reader: frames.Reader) -> frames.Frame | None:
        """Read what is there, a bounded amount so that clock and watchdog get their turn."""
        for _ in range(64):
            try:
                frame = reader.read(self._child.connection)
            except BlockingIOError:
                return None
            if frame is not None:
                return frame
        return None

    def _gone(self) -> Failure:
        """The worker hung up: wait for the report of how it ended."""
        try:
            self._server.wait(self._child, GRACE)
        except ServerDiedError:
            return Failure("crashed", "closed its connection") if self._server.knows(self._child) else self._lost()
        return Failure("crashed", self._child.detail)

    def _lost(self) -> Failure:
        return Failure("crashed", "the fork server died with it: something it did ended its parent process")
