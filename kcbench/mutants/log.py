"""Log: the records of a study as JSON lines, one a mutant, from which an interrupted study goes on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from kcbench import __version__
from kcbench.errors import KcbenchError
from kcbench.mutants.planted import Planted
from kcbench.mutants.record import Record

_START = b'{"subject": '
"""What every line begins with."""


@dataclass(frozen=True)
class Terms:
    """What the outcome of a mutant depends on beside the mutant. Every line says it, so that studies are not mixed up."""

    seed: str
    device: str
    equivalents: bool
    kcbench: str = __version__


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
        try:
            self._stream.write(json.dumps({**record.to_json(), "study": self._terms}, allow_nan=False) + "\n")
            self._stream.flush()
        except BrokenPipeError:
            raise  # Whoever reads stdout has seen enough.
        except OSError as error:
            raise KcbenchError(f"cannot be written: {error.strerror}", where=self._stream.name) from error


@dataclass(frozen=True)
class _Line:
    id: str
    terms: Terms
    data: Mapping[str, Any]


class Past:
    """What the log of an earlier run holds. A last line that was cut off is taken from the file.

    Args:
        path: The file.

    Raises:
        KcbenchError: It cannot be read, or is no log of one study.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            data = path.read_bytes()
            whole, torn = data[: data.rfind(b"\n") + 1], data[data.rfind(b"\n") + 1 :]
            self._lines = [self._read(number, line) for number, line in enumerate(whole.splitlines(), 1)]
            if not (torn.startswith(_START) or _START.startswith(torn)):
                raise KcbenchError("its last line is no mutant of a study", where=str(path), fix="choose another file")
            os.truncate(path, len(whole))
        except OSError as error:
            raise KcbenchError(f"cannot be gone on with: {error.strerror}", where=str(path)) from error
        if len({line.terms for line in self._lines}) > 1:
            raise KcbenchError("holds the mutants of several studies", where=str(path), fix="give each a file of its own")

    def _read(self, number: int, line: bytes) -> _Line:
        try:
            data = json.loads(line)
            return _Line(f"{data['subject']}/{data['id']}", Terms(**data["study"]), data)
        except (ValueError, KeyError, TypeError) as error:
            fix = "restore the file, or delete that line and run again"
            raise KcbenchError(f"line {number} is no mutant of a study", where=str(self._path), fix=fix) from error

    @property
    def terms(self) -> Terms | None:
        """The study's; None where the file is empty."""
        return self._lines[0].terms if self._lines else None

    def records(self, planted: Sequence[Planted]) -> list[Record]:
        """What it says of some mutants. Those that kcbench failed on are left out, so that they are examined again."""
        by_id = {item.id: item for item in planted}
        found = {}
        for line in self._lines:
            item = by_id.get(line.id)
            if item is not None:
                try:
                    found[item.id] = Record.from_json(line.data, item)
                except (KeyError, TypeError) as error:
                    raise KcbenchError(f"what it says of {item.id} is incomplete", where=str(self._path)) from error
        return [record for record in found.values() if not record.failed]
