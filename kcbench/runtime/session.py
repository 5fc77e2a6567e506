"""A session: one submission in its worker, from import to compiled metadata."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shutil
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from torch import Tensor

from kcbench.domain.observation import Launch, Observation, Raised
from kcbench.runtime import decode, tensors
from kcbench.runtime.call import Call, Limits, LoadReport, TensorArg
from kcbench.runtime.compiler import Compiler, launch_key
from kcbench.runtime.forkserver import ServerDiedError
from kcbench.runtime.line import BROKE, Failure, Line
from kcbench.runtime.site import Site
from kcbench.runtime.worker import build, frames

KEPT_PARAMETERS = 512 << 20
"""Bytes of parameter tensors that a worker keeps for later calls."""

T = TypeVar("T")

OpenLine = Callable[[bool, str], Line]
"""Starts a worker for interpreted (True) or compiled (False) mode on a device; raises ServerDiedError where that fails."""


class WorkerSession:
    """One submission in a worker of its own. Not for use by several threads at a time.

    Made by :meth:`kcbench.runtime.pool.WorkerPool.open`. No method raises for what a submission does.
    """

    def __init__(
        self,
        source: str,
        *,
        entry: str,
        interpret: bool,
        builds: bool,
        site: Site,
        limits: Limits,
        folder: Path,
        open_line: OpenLine,
        release: Callable[[], None],
    ) -> None:
        self._source, self._entry, self._interpret, self._builds = source, entry, interpret, builds
        self._site, self._limits, self._folder = site, limits, folder
        self._open_line, self._release = open_line, release
        self._line: Line | None = None
        self._report: LoadReport | None = None
        self._restarts = 0
        self._spent = 0.0
        self._reserve = limits.reserve_seconds
        self._digests = tensors.Digests()
        self._sent: OrderedDict[str, int] = OrderedDict()
        self._launches: dict[str, dict[str, Any]] = {}
        self._log = ""
        self._closed = False
        self._built = False
        self._name = "submission_" + hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:12]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def log(self) -> str:
        """The last 64 KiB of what the submission printed."""
        return self._line.log if self._line is not None else self._log

    # Load

    def load(self) -> LoadReport:
        """Import the submission; a second time returns the first report."""
        if self._report is None:
            self._report = self._start()
        return self._report

    def _start(self) -> LoadReport:
        """Start a worker and import the submission in it."""
        start = time.monotonic()
        try:
            self._line = self._open_line(self._interpret, self._site.device)
        except ServerDiedError as error:
            return LoadReport("crashed", detail=f"no worker could be started: {error}", seconds=time.monotonic() - start)
        self._sent.clear()
        answer = self._import()
        seconds = time.monotonic() - start
        if isinstance(answer, Failure):
            return LoadReport(answer.status, detail=answer.detail, seconds=seconds)
        try:
            if decode.status_of(answer) == "ok":
                return LoadReport("ok", seconds=seconds)
            found = decode.failure_of(answer, seconds)
        except frames.FrameError:
            self._end()
            return LoadReport("crashed", detail=BROKE, seconds=seconds)
        self._end()
        return LoadReport(found.status, self._explained(found.raised), found.detail, seconds)

    def _import(self) -> frames.Frame | Failure:
        """Have the worker import the submission."""
        request = self._load_request(prepare=True)
        if not self._builds:
            return self._ask(request, (), self._limits.load_seconds, reserve=True)
        # A worker that was ended while it built leaves torch's lock file, for which the next one would wait for ever.
        for lock in (self._folder / "extensions").glob("*/lock"):
            lock.unlink(missing_ok=True)
        # A compiler does not use the device, so that a measurement need not wait minutes for it.
        with self._site.builds:
            return self._ask(request, (), self._limits.build_seconds, shares=False)

    def _explained(self, raised: Raised | None) -> Raised | None:
        """With the first error of a failed build, where the compiler's output went to the log instead of the message."""
        if raised is None or not raised.message.startswith(build.FAILED) or ": " in raised.message:
            return raised
        found = build.first_error(self.log)
        return dataclasses.replace(raised, message=f"{raised.message}: {found}") if found else raised

    def _load_request(self, *, prepare: bool) -> dict[str, Any]:
        return {"op": "load", "source": self._source, "entry": self._entry, "name": self._name, "prepare": prepare}

    def _end(self) -> None:
        """End the worker and all that it started."""
        line, self._line = self._line, None
        if line is not None:
            line.end()
            self._log = line.log

    # Call

    def call(self, call: Call) -> Observation:
        """Make one call and hand back what was seen. After a crash or a timeout the next call gets a new worker."""
        gone = self._ready()
        if gone is not None:
            return gone
        keep: list[Tensor] = []
        header, payload, sent = self._encode(call, keep)

        def read(answer: frames.Frame, seconds: float) -> Observation:
            return decode.observation_of(answer, call, seconds)

        return self.exchange(header, payload, read, sent=sent)

    def exchange(
        self,
        header: Mapping[str, Any],
        payload: Sequence[frames.Named],
        read: Callable[[frames.Frame, float], T],
        *,
        seconds: float | None = None,
        sent: OrderedDict[str, int] | None = None,
    ) -> T | Observation:
        """Put a request to the worker.

        Args:
            header: The request.
            payload: What travels with it; its memory must stay alive meanwhile.
            read: Makes something of an answer of status ``ok``, given the seconds that it took by the grader's clock; raises
                FrameError where the answer contradicts itself or the request.
            seconds: Time allowed; that of a call if not given.
            sent: The parameters that the worker has afterwards.

        Returns:
            What ``read`` made, or what went wrong instead.
        """
        gone = self._ready()
        if gone is not None:
            return gone
        before = self._spent
        try:
            answer = self._ask(header, payload, self._patience if seconds is None else seconds, reserve=seconds is None)
        except frames.FrameError as error:
            return Observation("not-run", detail=f"the inputs cannot be sent: {error}")
        took = self._spent - before
        if sent is not None:
            self._sent = sent
        if isinstance(answer, Failure):
            return Observation(answer.status, detail=answer.detail, seconds=took)
        try:
            self._built = self._built or decode.status_of(answer) == "ok"
            found = read(answer, took) if decode.status_of(answer) == "ok" else decode.failure_of(answer, took)
            self._remember(decode.launches_of(answer))
        except frames.FrameError:
            self._end()
            return Observation("crashed", detail=BROKE, seconds=took)
        if answer.header.get("fatal"):
            self._end()
        return found

    @property
    def _patience(self) -> float:
        """Seconds for one call: the first one may build an extension."""
        if self._builds and not self._built:
            return max(self._limits.call_seconds, self._limits.build_seconds)
        return self._limits.call_seconds

    def _ready(self) -> Observation | None:
        """Bring a worker up that has the submission loaded; what to answer where that is impossible."""
        report = self.load()
        if not report.ok:
            return Observation("not-run", detail=f"the submission did not load: {_one_line(report)}")
        if self._closed:
            return Observation("not-run", detail="the session is closed")
        if self._spent >= self._limits.total_seconds:
            return Observation("not-run", detail=f"the {self._limits.total_seconds:g} s for one submission are used up")
        if self._line is not None:
            return None
        if self._restarts >= self._limits.max_restarts:
            return Observation("not-run", detail=f"its worker was started again {self._restarts} times already")
        self._restarts += 1
        again = self._start()
        if again.ok:
            return None
        return Observation(again.status, raised=again.raised, detail=f"while it was loaded again: {_one_line(again)}")

    def _ask(
        self,
        header: Mapping[str, Any],
        payload: Sequence[frames.Named],
        seconds: float,
        *,
        reserve: bool = False,
        shares: bool = True,
    ) -> frames.Frame | Failure:
        """Ask the worker, and end it after a failure.

        Args:
            header: The request.
            payload: What travels with it.
            seconds: Time allowed.
            reserve: Whether it may take from :attr:`Limits.reserve_seconds` beyond that.
            shares: Whether the device is shared with others meanwhile, and not used at all.
        """
        with self._site.device_lock.shared() if shares else contextlib.nullcontext():
            return self._ask_now(header, payload, seconds, self._reserve if reserve else 0.0)

    def _ask_now(
        self, header: Mapping[str, Any], payload: Sequence[frames.Named], seconds: float, more: float
    ) -> frames.Frame | Failure:
        if self._line is None:
            return Failure("crashed", "there is no worker")
        left = self._limits.total_seconds - self._spent
        start = time.monotonic()
        try:
            answer = self._line.ask(header, payload, min(seconds + more, left))
        except frames.FrameError:
            # Nothing was sent.
            raise
        except BaseException:
            # An interrupt leaves the worker at an unknown place.
            self._end()
            raise
        took = time.monotonic() - start
        self._spent += took
        self._reserve -= min(max(took - seconds, 0.0), more)
        if isinstance(answer, Failure):
            self._end()
            if answer.status == "timeout" and left < seconds + more:
                return Failure("timeout", f"the {self._limits.total_seconds:g} s for one submission are used up")
        return answer

    def _encode(self, call: Call, keep: list[Tensor]) -> tuple[dict[str, Any], list[frames.Named], OrderedDict[str, int]]:
        """The request for a call, and the parameters that the worker has after it.

        ``keep`` holds the tensors whose memory the request points to.
        """
        payload: list[frames.Named] = []

        def add(tensor: Tensor) -> int:
            keep.append(tensors.contiguous(tensor))
            payload.append(tensors.named(keep[-1]))
            return len(payload) - 1

        args: list[dict[str, Any]] = [
            {"tensor": add(arg.tensor), "layout": arg.layout, "grad": arg.requires_grad}
            if isinstance(arg, TensorArg)
            else {"scalar": arg.value}
            for arg in call.args
        ]
        cotangents = [add(tensor) for tensor in call.cotangents]
        parameters, new, forget, sent = self._parameters(call, add)
        model = call.model
        header = {
            "op": "call",
            "model": {**vars(model), "init": tensors.encode_init(model.init)},
            "names": list(call.names),
            "args": args,
            "parameters": parameters,
            "new": new,
            "forget": forget,
            "repeats": call.repeats,
            "disturb": list(call.disturb),
            "stream": call.stream,
            "gradients": list(call.gradients),
            "parameter_gradients": list(call.parameter_gradients),
            "cotangents": cotangents,
            "seed": call.seed,
            "regime": call.regime,
        }
        return header, payload, sent

    def _parameters(
        self, call: Call, add: Callable[[Tensor], int]
    ) -> tuple[dict[str, str] | None, dict[str, int], list[str], OrderedDict[str, int]]:
        """Digest by name, the tensors that the worker does not have yet, the digests that it may drop, and what it has then."""
        sent = self._sent.copy()
        if call.parameters is None:
            return None, {}, [], sent
        named: dict[str, str] = {}
        new: dict[str, int] = {}
        for name, tensor in call.parameters.items():
            digest = named[name] = self._digests.of(tensor)
            if digest in sent:
                sent.move_to_end(digest)
            else:
                sent[digest] = tensor.numel() * tensor.element_size()
                new[digest] = add(tensor)
        forget = []
        total = sum(sent.values())
        for digest in list(sent):
            if total <= KEPT_PARAMETERS:
                break
            if digest not in named.values():
                total -= sent.pop(digest)
                forget.append(digest)
        return named, new, forget, sent

    def _remember(self, found: Sequence[dict[str, Any]]) -> None:
        for record in found:
            if len(self._launches) < decode.LAUNCHES:
                self._launches.setdefault(launch_key(record), record)

    # Compile

    def compile(self, targets: Sequence[str] = ("sm_80", "sm_90", "sm_100")) -> list[Launch]:
        """Resources of the kernels that were launched so far, by target; Triton kernels are cross-compiled, which needs no GPU.

        One launch is compiled per kernel: the first that was made. Failures are launches with an ``error``.
        """
        if self._closed or self._report is None or not self._report.ok:
            return []
        # Nothing runs on a GPU here, so the limits for a CPU hold; but a compiler uses the CPU.
        compiler = Compiler(lambda: self._open_line(False, "cpu"), self._load_request(prepare=False), self._limits)
        with self._site.device_lock.shared() if self._site.device == "cpu" else contextlib.nullcontext():
            return compiler.run(list(self._launches.values()), targets, self._folder / "extensions")

    def close(self) -> None:
        """End the worker and remove everything of the session."""
        if self._closed:
            return
        self._closed = True
        try:
            self._end()
        finally:
            remove(self._folder)
            self._release()


def _one_line(report: LoadReport) -> str:
    if report.raised is not None:
        first = report.raised.message.strip().splitlines()
        return f"{report.raised.type}: {first[0] if first else ''}"
    return report.detail or report.status


def remove(folder: Path) -> None:
    """Remove a folder that a submission could write to, also where it took its own permissions away."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for parent, names, _ in os.walk(folder):
            for path in (Path(parent, name) for name in names):
                if not path.is_symlink():
                    with contextlib.suppress(OSError):
                        path.chmod(stat.S_IRWXU)
        shutil.rmtree(folder, ignore_errors=True)
