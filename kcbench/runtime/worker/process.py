"""The life of one worker: confine itself, then answer requests until the grader hangs up."""

from __future__ import annotations

import ctypes
import fcntl
import io
import os
import resource
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import torch

from . import build, frames, module, targets
from .clock import Clock, clock_of
from .forward import CallError, Runner
from .launches import Recorder
from .timing import Timer
from .world import World, world_of

PR_SET_PDEATHSIG = 1
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
HIGH_FD = 700
FILES = 4096
PROCESSES = 4096
FILE_BYTES = 16 << 30
BROKEN = 70
"""Exit status of a worker whose own code failed: the submission has tampered with it, or it has a bug."""


def enter(connection: int, output: int, request: Mapping[str, Any]) -> socket.socket:
    """Turn a fresh fork into a confined worker; returns its connection to the grader."""
    os.setsid()
    parent = request["parent"]
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(BROKEN)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # Close-on-exec and far from the numbers that code which counts up from 3 would touch.
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    high = fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, min(HIGH_FD, allowed // 2))
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != high:
            try:
                os.close(int(name))
            except OSError:
                continue
    _limit(request["address_space"])
    if hasattr(libc, "mallopt"):
        # Blocks up to 32 MiB then come from the heap and stay there when freed, so that poisoned memory is found again.
        libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)
    _write("/proc/self/oom_score_adj", "1000")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What was printed before a crash is what helps.
        sys.stdout.reconfigure(line_buffering=True)
    os.environ.update(request["environment"])
    # The fork server may have looked for it, and remembers its own.
    tempfile.tempdir = None
    os.chdir(request["folder"])
    sys.dont_write_bytecode = True
    # A submission has no business with its grader, and an honest one never asks.
    sys.modules["kcbench"] = None  # type: ignore[assignment]
    return socket.socket(fileno=high)


def _limit(address_space: int | None) -> None:
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, FILES), (resource.RLIMIT_FSIZE, FILE_BYTES)]
    if os.geteuid() != 0:
        # The kernel counts all processes of the user, and does not count for root.
        limits.append((resource.RLIMIT_NPROC, PROCESSES))
    if address_space is not None:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        limits.append((resource.RLIMIT_AS, used + address_space))
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError:
        return


class Worker:
    """Answers ``load``, ``call``, ``stage``, ``time``, ``timed``, ``compile`` and ``extensions``."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._world: World | None = None
        self._clock: Clock | None = None
        self._runner: Runner | None = None
        self._timer: Timer | None = None
        self._actions = {
            "load": self._load,
            "call": self._call,
            "stage": self._stage,
            "time": self._time,
            "timed": self._timed,
            "compile": self._compile,
            "extensions": self._extensions,
        }
        self._recorder = Recorder()
        self._recorder.install()
        stand_in()

    def serve(self, connection: socket.socket) -> None:
        """Answer one request after the other; returns when the grader closes, or after an error that ends the device."""
        reader = frames.Reader()
        while True:
            try:
                frame = frames.receive(connection, reader)
            except EOFError:
                return
            header, tensors = self._answer(frame)
            header["nonce"] = frame.header["nonce"]
            header["launches"] = self._recorder.drain()
            try:
                frames.send(connection, header, tensors)
            except frames.FrameError as error:
                detail = f"the outputs cannot be sent: {error}"
                frames.send(connection, {"nonce": header["nonce"], "status": "memory", "detail": detail})
            if header.get("fatal"):
                return

    def _answer(self, frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        request = frame.header
        try:
            return self._actions[request["op"]](request, frame)
        except CallError as error:
            found = module.describe(error.error)
            detail = module.detail_of(error.error) or error.where
            fatal = self._world is not None and self._world.broken()
            return {"status": "raised", "raised": found, "detail": detail, "fatal": fatal}, []

    def _load(self, request: Mapping[str, Any], frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        try:
            if request["prepare"]:
                self._world = world_of(torch.device(self._device))
                self._clock = clock_of(self._world.device)
                if self._world.device.type == "cuda":
                    capability = torch.cuda.get_device_capability(self._world.device)
                    os.environ["TORCH_CUDA_ARCH_LIST"] = build.arch_list(capability, torch.cuda.get_arch_list())
            entry = module.load(request["source"], request["name"], request["entry"])
        except BaseException as error:
            raise CallError(error) from error
        if self._world is not None and self._clock is not None:
            self._runner = Runner(entry, self._world)
            self._timer = Timer(self._runner, self._world, self._clock)
        return {"status": "ok"}, []

    def _call(self, request: Mapping[str, Any], frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        if self._runner is None:
            raise RuntimeError("called before it was loaded")
        reply = self._runner.call(request, frame)
        return {"status": "ok", **reply.header}, reply.tensors

    def _stage(self, request: Mapping[str, Any], frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        self._ready_timer().stage(request, frame)
        return {"status": "ok"}, []

    def _time(self, request: Mapping[str, Any], frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        with self._recorder.paused():
            return {"status": "ok", **self._ready_timer().batch(request)}, []

    def _timed(self, request: Mapping[str, Any], frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        reply = self._ready_timer().output(request["index"])
        return {"status": "ok", **reply.header}, reply.tensors

    def _ready_timer(self) -> Timer:
        if self._timer is None:
            raise RuntimeError("asked to time before it was loaded")
        return self._timer

    def _compile(self, request: Mapping[str, Any], frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        try:
            found, ptx = targets.compile_for(self._recorder.kernels, request["launch"], request["target"])
        except BaseException as error:
            raise CallError(error) from error
        return {"status": "ok", "metadata": found, "ptx": ptx}, []

    def _extensions(self, request: Mapping[str, Any], frame: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        try:
            return {"status": "ok", "found": targets.extensions(request["folder"])}, []
        except BaseException as error:
            raise CallError(error) from error


def stand_in() -> None:
    """Let the interpreter stand in for a GPU.

    Kernels begin with ``assert x.is_cuda``, which the interpreter's host tensors would fail. Nothing can be tuned: an autotuned
    kernel runs with its first configuration.
    """
    if os.environ.get("TRITON_INTERPRET") != "1":
        return
    torch.Tensor.is_cuda = property(lambda self: True)  # type: ignore[assignment]
    try:
        from triton.runtime.autotuner import Autotuner
    except ImportError:
        return

    def untimed(self: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        return [0.0, 0.0, 0.0]

    Autotuner._bench = untimed


def main(connection: int, output: int, request: Mapping[str, Any]) -> None:
    """Run a worker in a fresh fork; does not return."""
    status = BROKEN
    try:
        sock = enter(connection, output, request)
        Worker(request["device"]).serve(sock)
        status = 0
    except BaseException as error:
        sys.stderr.write(f"the worker failed: {type(error).__name__}: {error}\n")
        sys.stderr.write(module.describe(error)["trace"])
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
