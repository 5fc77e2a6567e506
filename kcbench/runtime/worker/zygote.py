"""Fork server: imports torch once and forks one process per submission. Started by path; runs no torch operation.

It is the reaper of everything that its workers leave behind: as a child subreaper it inherits their orphans, and kills them when
the worker they came from ends. Messages travel as JSON over a SOCK_SEQPACKET socket; the descriptors of a new worker come along
with the request. When the grader goes away, so do the workers and the fork server.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
MESSAGE = 64 << 10
PACKAGE = "_kcbench_worker"
PRELOADED = (
    # Imported by the first backward otherwise, which costs it half a second.
    "torch.fx.experimental.symbolic_shapes",
    "torch.nested._internal.nested_tensor",
    "triton",
    "triton.language",
    "triton.compiler",
    "triton.runtime.interpreter",
    "triton.backends.nvidia",
    # Imported by the first launch otherwise, which costs it 0.1 s.
    "triton.experimental.gluon.nvidia.hopper",
    "triton.experimental.gluon.nvidia.blackwell",
)
PATIENCE = 5.0
"""Seconds spent on killing what a worker left behind, before giving up on it."""


def load_package() -> Any:
    """The folder of this file as a package of its own; nothing else of kcbench can be reached through it."""
    folder = os.path.dirname(os.path.abspath(__file__))
    init = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(PACKAGE, init, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{PACKAGE}.process")


class Zygote:
    """The fork server's loop."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._workers: dict[int, str] = {}
        self._process: Any = None
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)

    def run(self) -> None:
        """Import what workers need, then serve until the grader closes."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._process = load_package()
        versions = {"torch": self._process.torch.__version__, "triton": _preload()}
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        gc.collect()
        gc.freeze()
        self._send({"event": "ready", "versions": versions, "threads": len(os.listdir("/proc/self/task"))})
        while True:
            sources: list[Any] = [self._control, self._wake_read]
            ready, _, _ = select.select(sources, [], [])
            if self._wake_read in ready:
                self._drain()
            self._reap()
            if self._control in ready and not self._serve():
                return

    def _send(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())

    def _drain(self) -> None:
        try:
            while os.read(self._wake_read, 4096):
                pass
        except BlockingIOError:
            return

    def _serve(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE, 2)
        if not data:
            return False
        request = json.loads(data)
        connection, output = descriptors
        request["parent"] = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(connection, output, request)
        os.close(connection)
        os.close(output)
        self._workers[pid] = request["token"]
        self._send({"event": "forked", "token": request["token"], "pid": pid})
        return True

    def _become_worker(self, connection: int, output: int, request: dict[str, Any]) -> None:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
                del sys.modules[name]
            self._process.main(connection, output, request)
        finally:
            os._exit(self._process.BROKEN)

    def _reap(self) -> None:
        """Report the workers that have ended, once nothing of theirs is left."""
        while True:
            try:
                # Looked at, not reaped yet: its number stays taken while its group is killed.
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            token = self._workers.pop(ended.si_pid, None)
            if token is not None:
                _kill_group(ended.si_pid)
            _, status = os.waitpid(ended.si_pid, 0)
            if token is not None:
                self._kill_orphans()
                self._send({"event": "exit", "token": token, "status": status})

    def _kill_orphans(self) -> None:
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            orphans = [pid for pid in children_of(os.getpid()) if pid not in self._workers]
            if not orphans:
                return
            for pid in descendants(orphans):
                _kill(pid)
            for pid in orphans:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    continue
            time.sleep(0.001)

    def stop(self) -> None:
        """Kill all workers and what they started."""
        for pid in [*self._workers, *descendants(children_of(os.getpid()))]:
            _kill(pid)
        self._workers.clear()
        self._kill_orphans()


def _preload() -> str:
    """Import what submissions and first calls need, Triton in the mode that the environment says; Triton's version, if any."""
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    if os.environ.get("TRITON_INTERPRET") != "1":
        try:
            # Hashes all of Triton, and keeps the result: half a second that the first compilation would pay.
            from triton.runtime.cache import triton_key

            triton_key()
        except ImportError:
            pass
    triton = sys.modules.get("triton")
    return str(triton.__version__) if triton is not None else ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        return


def children_of(pid: int) -> list[int]:
    """Direct children of a process; without the kernel's list of them, all of ``/proc`` is searched."""
    try:
        found: list[int] = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(word) for word in file.read().split()]
        return found
    except OSError:
        # Kernels without that list, and processes that end meanwhile.
        return [child for child, parent in parents().items() if parent == pid]


def parents() -> dict[int, int]:
    """Parent by process, for every process that can be seen."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The command may hold spaces and parentheses; what follows its last one is numbers.
                    found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    return found


def descendants(roots: Iterable[int]) -> list[int]:
    """The roots and everything below them."""
    table = parents()
    below: dict[int, list[int]] = {}
    for child, parent in table.items():
        below.setdefault(parent, []).append(child)
    found, todo = [], list(roots)
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += below.get(pid, [])
    return found


def main() -> None:
    """Serve on the socket whose number is the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    zygote = Zygote(control)
    try:
        zygote.run()
    except OSError:
        # The grader went away in the middle of a message.
        pass
    finally:
        zygote.stop()
    # Not sys.exit: interpreter shutdown with everything loaded is slow, and has nothing left to do.
    os._exit(0)


if __name__ == "__main__":
    main()
