"""Compiled metadata for RES-02: launches that were recorded, compiled for each target in a second worker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kcbench.domain.observation import Launch
from kcbench.runtime import decode
from kcbench.runtime.call import Limits
from kcbench.runtime.forkserver import ServerDiedError
from kcbench.runtime.line import BROKE, Failure, Line
from kcbench.runtime.worker.frames import Frame, FrameError
from kcbench.runtime.worker.targets import MOST_PTX

STARTS = 3
"""Workers used: a compiler that crashes on one kernel is not asked about that kernel again, but about the others."""


def launch_key(record: Mapping[str, Any]) -> str:
    """What makes two recorded launches the same."""
    return json.dumps([record.get(name) for name in ("kernel", "line", "types", "constants", "options")], sort_keys=True)


def first_of_each(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One launch per kernel: the first, which comes from a call at ordinary sizes.

    Later calls at extreme sizes can ask for tiles that take the compiler half a minute, and say little about the kernel.
    """
    chosen: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        chosen.setdefault((record["kernel"], str(record.get("line"))), record)
    return list(chosen.values())


class Compiler:
    """Compiles in workers that are not interpreted and touch no device.

    Args:
        open_line: Forks such a worker.
        load: The request that imports the submission in it.
        limits: ``load_seconds`` for the import, ``compile_seconds`` for everything.
    """

    def __init__(self, open_line: Callable[[], Line], load: Mapping[str, Any], limits: Limits) -> None:
        self._open_line, self._load, self._limits = open_line, load, limits
        self._line: Line | None = None
        self._loaded = False
        self._starts = 0
        self._refused = ""
        self._limit = 0.0

    def run(self, records: Sequence[dict[str, Any]], targets: Sequence[str], extensions: Path) -> list[Launch]:
        """The launches by kernel and target, and the kernels of CUDA extensions that were built below a folder."""
        self._limit = time.monotonic() + self._limits.compile_seconds
        try:
            found = [self._launch(record, target) for record in first_of_each(records) for target in targets]
            if any(extensions.rglob("*.so")):
                found += self._extensions(extensions)
        finally:
            self._end()
        return found

    def _end(self) -> None:
        line, self._line, self._loaded = self._line, None, False
        if line is not None:
            line.end()

    def _launch(self, record: dict[str, Any], target: str) -> Launch:
        kernel = decode.text(record["kernel"], 400)
        try:
            measured = record.get("measured")
            known: dict[str, Any] = {}
            if isinstance(measured, dict) and measured.get("target") == target:
                known = decode.metadata_of({k: v for k, v in measured.items() if k != "target"})
            if known and not known.get("tmem_size"):
                return Launch(kernel, target, known)
            # How Tensor Memory is used is seen in the code alone.
            answer = self._ask({"op": "compile", "launch": record, "target": target}, load=True)
            if isinstance(answer, Frame) and decode.status_of(answer) == "ok":
                metadata = decode.metadata_of(answer.header.get("metadata"))
                ptx = decode.text(answer.header.get("ptx"), MOST_PTX)
                return Launch(kernel, target, {**metadata, **known}, ptx=ptx)
            if known:
                return Launch(kernel, target, known)
            return Launch(kernel, target, error=self._error(answer))
        except FrameError:
            self._end()
            return Launch(kernel, target, error=BROKE)

    def _extensions(self, folder: Path) -> list[Launch]:
        try:
            answer = self._ask({"op": "extensions", "folder": str(folder)}, load=False)
            if isinstance(answer, Frame) and decode.status_of(answer) == "ok":
                return [Launch(kernel, target, metadata) for kernel, target, metadata in decode.extensions_of(answer)]
            return [Launch("extension", "", error=self._error(answer))]
        except FrameError:
            return [Launch("extension", "", error=BROKE)]

    def _error(self, answer: Frame | str) -> str:
        if isinstance(answer, str):
            return answer
        raised = decode.failure_of(answer, 0.0).raised
        if raised is None:
            return "the compiler gave no metadata"
        lines = raised.message.strip().splitlines()
        return f"{raised.type}: {lines[0][:300] if lines else ''}"

    def _ask(self, request: Mapping[str, Any], *, load: bool) -> Frame | str:
        """The answer, or why there is none."""
        problem = self._ready(load=load)
        if problem or self._line is None:
            return problem
        return self._exchange(request, self._limit - time.monotonic())

    def _ready(self, *, load: bool) -> str:
        """Bring a worker up; what prevents it."""
        if self._refused:
            return self._refused
        if time.monotonic() >= self._limit:
            return f"the {self._limits.compile_seconds:g} s for compiling are used up"
        if self._line is None:
            if self._starts >= STARTS:
                return "the compiler crashed too often"
            self._starts += 1
            try:
                self._line = self._open_line()
            except ServerDiedError as error:
                return f"no worker could be started: {error}"
        if load and not self._loaded:
            answer = self._exchange(self._load, min(self._limits.load_seconds, self._limit - time.monotonic()))
            if isinstance(answer, str) or decode.status_of(answer) != "ok":
                self._refused = f"the import without interpreter failed: {self._error(answer)}"
                return self._refused
            self._loaded = True
        return ""

    def _exchange(self, request: Mapping[str, Any], seconds: float) -> Frame | str:
        if self._line is None:
            return "there is no worker"
        answer = self._line.ask(request, (), seconds)
        if isinstance(answer, Failure):
            self._end()
            return f"the compiler {answer.detail}" if answer.status == "crashed" else answer.detail
        return answer
