"""An append-only file of JSON lines that survives a kill at any moment."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kcbench.domain import verdict as v
from kcbench.domain.result import Result
from kcbench.errors import KcbenchError


def encode(result: Result) -> bytes:
    """One line of strict JSON, newline included. NaN and infinities become the strings ``nan``, ``inf`` and ``-inf``."""
    text = json.dumps(plain(result.to_json()), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def decode(line: bytes) -> Result:
    """The result of a line.

    Raises:
        ValueError: The line is not a result.
    """
    try:
        data = json.loads(line)
        for score in data["legacy"]:
            score["max_difference"] = [float(value) for value in score["max_difference"]]
        return Result.from_json(data)
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"not a result: {error!r}") from error


def plain(value: Any) -> Any:
    """A value as strict JSON can hold it: tuples become lists, array scalars numbers, non-finite floats and the rest strings.

    A result took minutes to make, so an odd object in its evidence must not be the reason to lose it.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return plain(value.item()) if hasattr(value, "item") else str(value)


def finished(result: Result) -> bool:
    """Whether a result stands: one with a harness failure in it does not, and is tried again on resume."""
    return result.status != "error" and all(verdict.status != v.ERROR for verdict in result.verdicts)


class Journal:
    """Results, one line each. The first line with a key wins, but a harness failure gives way; a torn last line is dropped.

    Args:
        path: The file; made when the first result is appended.
        repair: Cut a torn last line off the file. Readers leave it, because a writer may be about to complete it.

    Raises:
        KcbenchError: The file cannot be read or repaired, or a line before the last one is not a result.
    """

    def __init__(self, path: Path, *, repair: bool) -> None:
        self.path = path
        self.torn = 0
        """Bytes of a torn last line that were found (and, with ``repair``, cut off)."""
        self._results: dict[str, Result] = {}
        self._descriptor: int | None = None
        self._load(repair)

    def _load(self, repair: bool) -> None:
        try:
            data = self.path.read_bytes() if self.path.exists() else b""
        except OSError as error:
            raise KcbenchError(f"cannot be read: {error.strerror}", where=str(self.path)) from error
        whole = 0
        for start, line in _lines(data):
            end = start + len(line)
            try:
                if not line.endswith(b"\n"):
                    raise ValueError("no newline at the end")
                result = decode(line)
            except ValueError as error:
                if end < len(data):
                    number = data.count(b"\n", 0, start) + 1
                    fix = "restore the file, or delete that line and run again"
                    raise KcbenchError(f"line {number} is damaged: {error}", where=str(self.path), fix=fix) from error
                break
            self._keep(result)
            whole = end
        self.torn = len(data) - whole
        if self.torn and repair:
            try:
                os.truncate(self.path, whole)
            except OSError as error:
                raise KcbenchError(f"a torn last line cannot be cut off: {error.strerror}", where=str(self.path)) from error

    def _stands(self, key: str) -> bool:
        return key in self._results and finished(self._results[key])

    def _keep(self, result: Result) -> None:
        if not self._stands(result.key):
            self._results.pop(result.key, None)  # so that it takes its place at the end, as its line does
            self._results[result.key] = result

    def keys(self) -> frozenset[str]:
        """Keys of the results that stand."""
        return frozenset(key for key, result in self._results.items() if finished(result))

    def values(self) -> tuple[Result, ...]:
        """Results in the order in which they were appended."""
        return tuple(self._results.values())

    def append(self, result: Result) -> None:
        """Write a result so that it is on disk when this returns: one write, one fsync. A key that stands already is ignored.

        Raises:
            KcbenchError: The line could not be written as a whole; what was written of it is taken back.
        """
        if self._stands(result.key):
            return
        line = encode(result)
        try:
            descriptor = self._open()
            before = os.fstat(descriptor).st_size
            written = os.write(descriptor, line)
            if written != len(line):
                os.ftruncate(descriptor, before)
                raise KcbenchError(
                    "the disk is full", where=str(self.path), fix="free some space and run again: finished results are kept"
                )
            os.fsync(descriptor)
        except OSError as error:
            raise KcbenchError(f"cannot be written: {error.strerror}", where=str(self.path)) from error
        self._keep(decode(line))

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            sync_folder(self.path.parent)
        return self._descriptor

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def sync_folder(folder: Path) -> None:
    """Make a new file's name durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end + 1
        yield start, data[start:end]
        start = end
