"""A function run in a fork of this process: what is cached here is there at once, and what goes wrong there stays there.

Mutants loop for ever, write beyond their tensors and take all memory. A fork of a warm process costs some milliseconds.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MEMORY = 4 << 30
"""Bytes of address space beyond what this process has."""

PATIENCE = 10.0
"""Seconds by the clock for each second of processor time."""


@dataclass(frozen=True)
class Died:
    """The fork ended without an answer."""

    reason: str
    """``killed by signal 11``, ``no answer within 20 s``."""


def isolated(action: Callable[[], Any], *, seconds: float) -> Any | Died:
    """What a function returns in a fork.

    Args:
        action: The function. What it returns must be JSON.
        seconds: Processor time allowed. By the clock it is :data:`PATIENCE` times as much, for a machine that is busy.

    Raises:
        RuntimeError: It raised.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _be_the_child(action, write, seconds)
    os.close(write)
    try:
        answer = _everything(read, time.monotonic() + PATIENCE * seconds)
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if answer is None or (not answer and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return Died(f"no answer within {seconds:g} s")
    if not answer:
        return Died(f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "exited")
    found = json.loads(answer)
    if "error" in found:
        raise RuntimeError(f"a function failed in its fork:\n{found['error']}")
    return found["value"]


def _be_the_child(action: Callable[[], Any], write: int, seconds: float) -> None:
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        faulthandler.disable()
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # A fork begins with a processor time of zero.
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        try:
            answer = json.dumps({"value": action()})
        except BaseException:
            answer = json.dumps({"error": traceback.format_exc()})
        with os.fdopen(write, "w") as stream:
            stream.write(answer)
    finally:
        os._exit(0)


def _everything(descriptor: int, limit: float) -> bytes | None:
    """All that comes until the other side closes; None where that takes too long."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(limit - time.monotonic(), 0.0))
        if not ready:
            return None
        parts.append(os.read(descriptor, 1 << 16))
        if not parts[-1]:
            return b"".join(parts)
