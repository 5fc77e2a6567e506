"""The grader's handle on one fork server and on the workers that it forks."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcbench.errors import KcbenchError
from kcbench.runtime import limits
from kcbench.runtime.worker import zygote

START_SECONDS = 180.0
FORK_SECONDS = 30.0
EXIT_SECONDS = 30.0
"""Long, because a driver may take its time to tear a device context down."""
SLICE = 0.02
TAIL = 64 << 10
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TORCH_CUDA_ARCH_LIST", "CC", "CXX")
KEPT_PREFIXES = ("CUDA_", "NVIDIA_", "OPENBLAS_")
MARK = "KCBENCH_SLOT"


class ServerDiedError(Exception):
    """The fork server is gone: it crashed, or a submission killed it."""


class Tail:
    """The last :data:`TAIL` bytes of what a worker printed."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self._data = b""

    def drain(self, steps: int = 16) -> bool:
        """Read what is there, a bounded amount; False at the end of the stream."""
        for _ in range(steps):
            try:
                chunk = os.read(self.descriptor, TAIL)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not chunk:
                return False
            self._data = (self._data + chunk)[-TAIL:]
        return True

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "replace")


class Child:
    """One worker process."""

    def __init__(self, token: str, pid: int, connection: socket.socket, output: int) -> None:
        self.token, self.pid = token, pid
        self.connection = connection
        self.tail = Tail(output)
        self.status: int | None = None
        """Raw wait status, once the fork server has reported it."""
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except OSError:
            self._handle = None

    def kill(self) -> None:
        """Send SIGKILL; through a handle that cannot mean another process."""
        if self.status is not None:
            return
        with contextlib.suppress(OSError):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the grader's ends, after a last look at what was printed."""
        self.tail.drain()
        self.connection.close()
        for descriptor in (self.tail.descriptor, self._handle):
            if descriptor is not None:
                os.close(descriptor)

    @property
    def detail(self) -> str:
        """How it ended, for a person."""
        if self.status is None:
            return "the process is gone"
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            try:
                name = signal.Signals(number).name
            except ValueError:
                name = "unknown"
            return f"killed by signal {number} ({name})"
        return f"exited with status {os.waitstatus_to_exitcode(self.status)}"


class ForkServer:
    """A process that has imported torch and forks workers. Several threads may use it, each its own workers.

    Args:
        folder: Where it lives; must exist.
        interpret: Whether its workers run Triton's interpreter.
    """

    def __init__(self, folder: Path, *, interpret: bool) -> None:
        self._folder, self._interpret = folder, interpret
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._mark = ""
        self._ready = False
        self._lock = threading.RLock()
        self._log = folder / f"server-{'interpret' if interpret else 'compile'}.log"
        self._children: dict[str, Child] = {}
        self.versions: dict[str, str] = {}
        self.threads = 0
        """Threads of the fork server when it was ready: more than one could not be forked safely."""

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None and self._control is not None

    @property
    def pid(self) -> int:
        """Process id; 0 before it was started."""
        return self._process.pid if self._process is not None else 0

    def launch(self) -> None:
        """Start it in the background, where it does not run already.

        Raises:
            KcbenchError: There is no process to be had.
        """
        with self._lock:
            if not self.alive:
                self.close()
                self._spawn()

    def _spawn(self) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._mark = secrets.token_hex(12)
        try:
            with theirs, self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-B", zygote.__file__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                    env=self._environment(),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except OSError as error:
            mine.close()
            raise KcbenchError(f"the fork server cannot be started: {error}") from error
        self._control = mine

    def start(self) -> None:
        """Start it where it does not run already, and wait until it can fork.

        Raises:
            KcbenchError: It does not come up, for example because torch is not installed.
        """
        with self._lock:
            self.launch()
            if not self._ready:
                self._await_ready()

    def _await_ready(self) -> None:
        try:
            ready = self._receive(START_SECONDS)
            if ready.get("event") != "ready" or not isinstance(ready.get("versions"), dict):
                raise ServerDiedError("it said something else")
        except ServerDiedError as error:
            log_text = self._log.read_text(errors="replace").strip().splitlines()
            self.close()
            why = f"the fork server does not start: {log_text[-1] if log_text else error}"
            raise KcbenchError(why, fix="install the extra with torch: kcbench[eval]") from error
        self._ready = True
        self.threads = int(ready.get("threads", 0))
        self.versions = {str(key): str(value) for key, value in ready["versions"].items()}

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key in KEPT or key.startswith(KEPT_PREFIXES)}
        # Tools that lie beside the interpreter, such as ninja, belong to its environment.
        kept["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), kept.get("PATH", os.defpath)])
        kept.setdefault("LANG", "C.UTF-8")
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        folder = str(self._folder)
        mode = {"TRITON_INTERPRET": "1"} if self._interpret else {}
        # Whoever asks torch for a GPU while the fork server imports must not wake the CUDA runtime: no fork could use it after.
        mode["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        return {**kept, **threads, **mode, "HOME": folder, "TMPDIR": folder, MARK: self._mark}

    def _receive(self, seconds: float) -> dict[str, Any]:
        """The next message; ServerDiedError where none comes."""
        if self._control is None:
            raise ServerDiedError("it is not running")
        self._control.settimeout(max(seconds, 0.001))
        try:
            data = self._control.recv(zygote.MESSAGE)
        except TimeoutError as error:
            raise ServerDiedError("it does not answer") from error
        except OSError as error:
            raise ServerDiedError("it is gone") from error
        if not data:
            raise ServerDiedError("it is gone")
        try:
            message = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ServerDiedError("it talks nonsense") from error
        if not isinstance(message, dict):
            raise ServerDiedError("it talks nonsense")
        return message

    def fork(self, *, folder: Path, environment: Mapping[str, str], address_space: int | None, device: str) -> Child:
        """Fork one worker.

        Args:
            folder: Its working directory.
            environment: Variables to add.
            address_space: Bytes of address space beyond what a fresh worker has; None for no limit (CUDA reserves far more).
            device: What ``torch.device`` takes.

        Raises:
            ServerDiedError: The fork server is gone.
        """
        token = secrets.token_hex(8)
        request = {
            "token": token,
            "folder": str(folder),
            "environment": dict(environment),
            "address_space": address_space,
            "device": device,
        }
        with self._lock:
            if self._control is None:
                raise ServerDiedError("it is not running")
            mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            read_end, write_end = os.pipe()
            try:
                socket.send_fds(self._control, [json.dumps(request).encode()], [theirs.fileno(), write_end])
                pid = self._await_fork(token)
            except (OSError, ServerDiedError) as error:
                mine.close()
                os.close(read_end)
                self.close(patience=0.0)
                raise ServerDiedError(str(error)) from error
            finally:
                theirs.close()
                os.close(write_end)
            mine.setblocking(False)
            child = self._children[token] = Child(token, pid, mine, read_end)
            return child

    def _await_fork(self, token: str) -> int:
        limit = time.monotonic() + FORK_SECONDS
        while True:
            message = self._receive(limit - time.monotonic())
            if message.get("event") == "forked" and message.get("token") == token and type(message.get("pid")) is int:
                return int(message["pid"])
            self._take(message)

    def _take(self, message: Mapping[str, Any]) -> None:
        child = self._children.get(str(message.get("token")))
        if message.get("event") != "exit" or child is None or type(message.get("status")) is not int:
            raise ServerDiedError("it talks nonsense")
        child.status = message["status"]
        del self._children[child.token]

    def register(self, selector: selectors.BaseSelector) -> None:
        """Let a selector wake up when a worker ends."""
        if self._control is not None:
            selector.register(self._control, selectors.EVENT_READ, "control")

    def pump(self) -> None:
        """Take the messages that are there. ServerDiedError where the fork server is gone."""
        with self._lock:
            while self._readable(0.0):
                self._take(self._receive(FORK_SECONDS))
            if not self.alive:
                raise ServerDiedError("it is gone")

    def _readable(self, seconds: float) -> bool:
        if self._control is None:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            return bool(selector.select(seconds))

    def wait(self, child: Child, seconds: float) -> None:
        """Wait until a worker is reported to have ended. ServerDiedError where that does not come."""
        limit = time.monotonic() + seconds
        while not self._has_ended(child):
            if time.monotonic() >= limit:
                raise ServerDiedError("it does not answer")

    def _has_ended(self, child: Child) -> bool:
        """Whether a worker has ended; waits for a message a little, and not longer, since other threads wait for theirs."""
        with self._lock:
            if child.status is None:
                if not self.knows(child):
                    raise ServerDiedError("it is gone")
                if self._readable(SLICE):
                    self._take(self._receive(SLICE))
            return child.status is not None

    def knows(self, child: Child) -> bool:
        """Whether a worker is one of the running fork server's, and has not been reported to have ended."""
        return child.token in self._children

    def siblings(self, child: Child) -> list[int]:
        """The other workers of the same fork server."""
        with self._lock:
            return [other.pid for other in self._children.values() if other is not child]

    def end(self, child: Child) -> None:
        """Kill a worker, wait until it and everything that it started is gone, and close its connection."""
        child.kill()
        try:
            self.wait(child, EXIT_SECONDS)
        except ServerDiedError:
            with self._lock:
                if self.knows(child):
                    self.close(patience=0.0)
        finally:
            child.close()

    def close(self, patience: float = zygote.PATIENCE + 1) -> None:
        """Stop the fork server and everything below it; kill it where it has not ended by itself after ``patience`` seconds."""
        with self._lock:
            self._close(patience)

    def _close(self, patience: float) -> None:
        self._children.clear()
        control, process = self._control, self._process
        if process is not None and not self._ready:
            # It has no workers yet, and does not listen.
            process.kill()
        self._control, self._process, self._ready = None, None, False
        if control is not None:
            control.close()
        if process is None:
            return
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode != 0:
            # It could not clean up after itself.
            limits.kill_marked(f"{MARK}={self._mark}")
