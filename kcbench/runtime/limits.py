"""What the grader watches from outside: the memory and the number of processes of a worker and all it started."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable

from kcbench.runtime.worker.zygote import children_of, parents

PAGE = os.sysconf("SC_PAGE_SIZE")
INTERVAL = 0.1
"""Seconds between two looks."""


class Watchdog:
    """Looks at one worker now and then while it works.

    Args:
        pid: The worker.
        server: Its fork server, which inherits what the worker orphans.
        memory: Bytes of resident memory allowed above what the worker has now.
        processes: Processes allowed at a time.
    """

    def __init__(self, pid: int, server: int, memory: int, processes: int) -> None:
        self._pid, self._server, self._memory, self._processes = pid, server, memory, processes
        self._base = resident_bytes([pid])
        self._next = 0.0

    def look(self, siblings: Callable[[], Iterable[int]]) -> tuple[str, str] | None:
        """Status and detail where the worker is to be ended; looks at most every :data:`INTERVAL` seconds.

        Args:
            siblings: Other workers of the same fork server, with their descendants not this worker's business.
        """
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + INTERVAL
        tree = tree_of(self._pid, self._server, set(siblings()))
        if len(tree) > self._processes:
            return "crashed", f"started more than {self._processes} processes"
        used = resident_bytes(tree) - self._base
        if used > self._memory:
            # Forked children share most of what they count as resident; the fair share takes longer to find out.
            used = min(used, fair_bytes(tree))
        if used > self._memory:
            return "memory", f"used {used / 2**30:.1f} GiB of memory, {self._memory / 2**30:.1f} GiB are allowed"
        return None


def tree_of(worker: int, server: int, siblings: set[int]) -> list[int]:
    """A worker, what it started, and what has been orphaned to its fork server."""
    # Kernels without lists of children are asked for the parent of every process, once.
    table: dict[int, list[int]] = {}
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        for child, parent in parents().items():
            table.setdefault(parent, []).append(child)

    def children(pid: int) -> list[int]:
        return table.get(pid, []) if table else children_of(pid)

    found = [worker, *(pid for pid in children(server) if pid != worker and pid not in siblings)]
    for pid in found:
        found += children(pid)
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """Resident memory of processes, summed; those that have ended count nothing."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                total += int(file.read().split()[1]) * PAGE
        except (OSError, IndexError):
            continue
    return total


def fair_bytes(pids: Iterable[int]) -> int:
    """Memory of processes with each shared page divided among its users, summed; resident memory where that cannot be seen."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                total += next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
        except (OSError, StopIteration):
            total += resident_bytes([pid])
    return total


def kill_marked(mark: str, patience: float = 5.0) -> int:
    """Kill every process whose environment at its start holds ``mark``; returns how many were seen.

    For the case that a fork server died and cannot clean up: its workers and their children carry its mark.
    """
    needle, seen = mark.encode(), set()
    limit = time.monotonic() + patience
    while time.monotonic() < limit:
        found = [pid for pid in _pids() if pid != os.getpid() and needle in _environment(pid)]
        if not found:
            break
        seen.update(found)
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.005)
    return len(seen)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environment(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""
