"""Log: the records of a study as JSON lines, one a job, from which an interrupted study goes on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TextIO, TypeVar

from kcbench.errors import KcbenchError
from kcbench.study.job import Job
from kcbench.study.record import Record
from kcbench.study.terms import Terms

J = TypeVar("J", bound=Job)
R = TypeVar("R", bound=Record)
T = TypeVar("T", bound=Terms)

_START = b'{"id": '
"""What every line begins with."""


class Log:
    """Writes records, each to the end of a file as soon as it is there. Use it with ``with``.

    Args:
        path: The file, to which lines are added; None for stdout.
        terms: The study's.
    """

    def __init__(self, path: Path | None, terms: Terms) -> None:
        self._terms = asdict(terms)
        try:
            self._stream: TextIO = sys.stdout if path is None else path.open("a", encoding="utf-8")
        except OSError as error:
            raise KcbenchError(f"cannot be written: {error.strerror}", where=str(path)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._stream is not sys.stdout:
            self._stream.close()

    def append(self, record: Record) -> None:
        """Write one record.

        Raises:
            KcbenchError: It cannot be written.
        """
        line = {"id": record.id, **record.to_json(), "study": self._terms}
        try:
            self._stream.write(json.dumps(line, allow_nan=False) + "\n")
            self._stream.flush()
        except BrokenPipeError:
            raise  # Whoever reads stdout has seen enough.
        except OSError as error:
            raise KcbenchError(f"cannot be written: {error.strerror}", where=self._stream.name) from error


@dataclass(frozen=True)
class _Line(Generic[T]):
    id: str
    terms: T
    data: Mapping[str, Any]


class Past(Generic[T]):
    """What the log of an earlier run holds. A last line that was cut off is taken from the file.

    Args:
        path: The file.
        noun: What its records are about, for example ``mutant``.
        terms: What the terms of such a study are. By them, logs of different kinds of studies are told apart.

    Raises:
        KcbenchError: It cannot be read, or is no log of one study.
    """

    def __init__(self, path: Path, noun: str, terms: type[T]) -> None:
        self._path, self._noun = path, noun
        try:
            data = path.read_bytes()
            whole, torn = data[: data.rfind(b"\n") + 1], data[data.rfind(b"\n") + 1 :]
            self._lines = [self._read(number, line, terms) for number, line in enumerate(whole.splitlines(), 1)]
            if not (torn.startswith(_START) or _START.startswith(torn)):
                raise KcbenchError(f"its last line is no {noun} of a study", where=str(path), fix="choose another file")
            os.truncate(path, len(whole))
        except OSError as error:
            raise KcbenchError(f"cannot be gone on with: {error.strerror}", where=str(path)) from error
        if len({line.terms for line in self._lines}) > 1:
            raise KcbenchError(f"holds the {noun}s of several studies", where=str(path), fix="give each a file of its own")

    def _read(self, number: int, line: bytes, terms: type[T]) -> _Line[T]:
        try:
            data = json.loads(line)
            return _Line(data["id"], terms(**data["study"]), data)
        except (ValueError, KeyError, TypeError) as error:
            fix = "restore the file, or delete that line and run again"
            raise KcbenchError(f"line {number} is no {self._noun} of a study", where=str(self._path), fix=fix) from error

    @property
    def terms(self) -> T | None:
        """The study's; None where the file is empty."""
        return self._lines[0].terms if self._lines else None

    def records(self, jobs: Sequence[J], read: Callable[[Mapping[str, Any], J], R]) -> list[R]:
        """What it says of some jobs. Those that kcbench failed on are left out, so that they are examined again.

        Args:
            jobs: The jobs.
            read: Makes a record of its JSON and the job.

        Raises:
            KcbenchError: Something is missing from a line.
        """
        by_id = {job.id: job for job in jobs}
        found: dict[str, R] = {}
        for line in self._lines:
            job = by_id.get(line.id)
            if job is not None:
                try:
                    found[line.id] = read(line.data, job)
                except (KeyError, TypeError) as error:
                    raise KcbenchError(f"what it says of {line.id} is incomplete", where=str(self._path)) from error
        return [record for record in found.values() if not record.failed]
