"""A session without a worker process, for kernels of our own: a study makes thousands of calls that last a millisecond each.

It differs from :class:`kcbench.runtime.WorkerSession` in the line to the worker only. Requests and answers are encoded and
decoded by the same code, and a call is made by the worker's own runner, so that both kinds of session observe the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from kcbench.errors import KcbenchError
from kcbench.runtime import Limits, WorkerSession
from kcbench.runtime.line import Failure, Line
from kcbench.runtime.site import Site
from kcbench.runtime.worker import frames, module, process
from kcbench.runtime.worker.forward import CallError, Runner
from kcbench.runtime.worker.world import world_of

_SITE = Site.of("cpu", 1)


class LocalSession(WorkerSession):
    """One kernel in this process, on the CPU. Close it when done: its module stays loaded until then.

    Nothing is enforced: the kernel is trusted to end, and to leave this process as it was. One of which that is not known belongs
    into :func:`kcbench.study.isolated`.

    Args:
        source: The kernel's source text.
        entry: Name of the class to call.
        interpret: It is a Triton kernel, for the interpreter.

    Raises:
        KcbenchError: Triton was imported here before, in its other mode.
    """

    def __init__(self, source: str, *, entry: str = "ModelNew", interpret: bool = False) -> None:
        if interpret:
            _choose_interpreter()
        _keep_freed_memory()
        folder = Path(tempfile.mkdtemp(prefix="kcbench-local-"))
        super().__init__(
            source,
            entry=entry,
            interpret=interpret,
            builds=False,
            site=_SITE,
            limits=Limits(total_seconds=float("inf")),
            folder=folder,
            open_line=lambda mode, _device: _LocalLine(folder, mode),
            release=lambda: None,
        )


class _LocalLine(Line):
    """Answers ``load`` and ``call`` at once, as a worker would."""

    def __init__(self, folder: Path, interpret: bool) -> None:
        self._folder, self._interpret = folder, interpret
        self._runner: Runner | None = None
        self._name = ""

    @property
    def log(self) -> str:
        return ""

    def end(self) -> None:
        self._runner = None
        sys.modules.pop(self._name, None)

    def ask(self, header: Mapping[str, Any], tensors: Iterable[frames.Named], seconds: float) -> frames.Frame | Failure:
        request = _travelled(header, tensors)
        try:
            with _interpreting() if self._interpret else contextlib.nullcontext():
                answer, payload = self._answer(request)
        except CallError as error:
            if isinstance(error.error, KeyboardInterrupt):
                raise error.error from None
            detail = module.detail_of(error.error) or error.where
            answer, payload = {"status": "raised", "raised": module.describe(error.error), "detail": detail}, []
        except Exception as error:
            # A worker whose own code fails ends; the kernel has tampered with what it reads.
            return Failure("crashed", f"the worker failed: {type(error).__name__}: {error}")
        return _travelled(answer, payload)

    def _answer(self, request: frames.Frame) -> tuple[dict[str, Any], list[frames.Named]]:
        if request.header["op"] == "load":
            self._name = request.header["name"]
            try:
                with contextlib.chdir(self._folder):
                    entry = module.load(request.header["source"], self._name, request.header["entry"])
            except BaseException as error:
                raise CallError(error) from error
            self._runner = Runner(entry, world_of(torch.device("cpu")))
            return {"status": "ok"}, []
        if self._runner is None:
            raise RuntimeError("called before it was loaded")
        reply = self._runner.call(request.header, request)
        return {"status": "ok", **reply.header}, reply.tensors


class _Wire:
    """The end of a socket at which bytes that are all there can be read."""

    def __init__(self, buffers: Iterable[Any]) -> None:
        self._data = memoryview(b"".join(buffers))

    def recv_into(self, buffer: memoryview, /) -> int:
        count = min(len(buffer), len(self._data))
        buffer[:count] = self._data[:count]
        self._data = self._data[count:]
        return count


def _travelled(header: Mapping[str, Any], tensors: Iterable[frames.Named]) -> frames.Frame:
    """A frame as it arrives at the other end."""
    wire, reader = _Wire(frames.encode(header, tensors)), frames.Reader()
    while True:
        frame = reader.read(wire)
        if frame is not None:
            return frame


@contextlib.contextmanager
def _interpreting() -> Iterator[None]:
    """Within it host tensors say that they are on a GPU; the oracle, which shares this process, must not see that."""
    process.stand_in()
    try:
        yield
    finally:
        # It is inherited, so that the attribute's own value comes back.
        del torch.Tensor.is_cuda


def _choose_interpreter() -> None:
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        raise KcbenchError(
            "Triton was imported to compile, and a process can do one of the two", fix="set TRITON_INTERPRET=1 before it starts"
        )
    os.environ["TRITON_INTERPRET"] = "1"


def _keep_freed_memory() -> None:
    """Have the C library keep what is freed, as in a worker, so that kernels which read memory they never wrote find poison."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(process.M_MMAP_THRESHOLD, 32 << 20)
        mallopt(process.M_TRIM_THRESHOLD, 1 << 30)
