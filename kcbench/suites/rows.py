"""Kernels as rows: a file of JSON Lines in which each row holds the code of a problem and the code of a kernel for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcbench.domain.submission import Submission
from kcbench.errors import KcbenchError
from kcbench.suites.folder import LARGEST
from kcbench.suites.kernelbench import Problem, make_problem, origin
from kcbench.suites.kernelbench_runs import attach
from kcbench.suites.samples import Place, Register, count_samples, parse_number

_FIX = "write one object a line: jq -c '.[]' FILE does it"


@dataclass(frozen=True)
class Fields:
    """Names of the fields that are read of a row."""

    ref: str
    """Code of the problem."""
    code: str
    """Code of the kernel."""
    level: str = ""
    """Level; empty where the rows have none."""
    problem: str = ""
    """Problem id; empty where the rows have none: problems are then numbered."""
    sample: str = ""
    """Sample id; empty where the rows have none: the kernels of a problem are then counted."""


@dataclass(frozen=True)
class _Row:
    number: int
    data: Mapping[str, Any]
    problem: str = ""


def read_rows(path: Path, fields: Fields) -> tuple[list[Submission], dict[str, Problem]]:
    """Read all rows of a file. Nothing in them is run.

    Args:
        path: The file.
        fields: What its rows call their parts.

    Returns:
        One submission for each row, those that cannot be scored with their ``problem``; and the problems by task id. Rows whose
        problem has the same text share one.

    Raises:
        KcbenchError: The file cannot be read, holds no rows, or no row has one of the fields.
    """
    rows = list(_rows(path))
    _check_fields(path, rows, fields)
    problems = _Problems(path)
    given = [_given(row, fields, problems) for row in rows]
    places = iter(count_samples(place for _, place in given if isinstance(place, Place)))
    register = Register()
    found = []
    for row, (problem, place) in zip(rows, given, strict=True):
        where, identifier = f"{path}:{row.number}", f"row-{row.number:06}"
        if problem is None or isinstance(place, str):
            reason = place if isinstance(place, str) else ""
            item = Submission(identifier, "", _text(row, fields.code), where, problem=row.problem or reason, origin=origin())
            found.append(item)
            continue
        found.append(register.enter(_submission(row, fields, problem, where, identifier), next(places)))
    return found, {problem.task_id: problem for problem in problems.by_text.values()}


def read_row(path: Path, number: int, field: str) -> str:
    """The text in one field of one row; empty where there is none.

    Raises:
        KcbenchError: The file cannot be read.
    """
    row = next((row for row in _rows(path) if row.number == number), None)
    return "" if row is None else _text(row, field)


class _Problems:
    """The problems of a file: one for each distinct text."""

    def __init__(self, path: Path) -> None:
        self.by_text: dict[str, Problem] = {}
        self._path = path
        self._names: set[str] = set()

    def get(self, code: str, level: int | None, problem_id: int | None, number: int) -> Problem:
        if code not in self.by_text:
            # Two texts under one id are two problems, so the second one needs a name of its own.
            digest = hashlib.sha256(code.encode("utf-8", "surrogateescape")).hexdigest()[:12]
            name = f"text-{digest}" if problem_id is None else str(problem_id)
            name = f"{name}-{digest}" if f"{level}/{name}" in self._names else name
            self._names.add(f"{level}/{name}")
            counted = len(self.by_text) + 1 if problem_id is None else problem_id
            path = f"{self._path}:{number}"
            reason = f"it is larger than {LARGEST >> 20} MiB" if len(code) > LARGEST else ""
            self.by_text[code] = make_problem(code, level=level, problem_id=counted, name=name, path=path, reason=reason)
        return self.by_text[code]


def _given(row: _Row, fields: Fields, problems: _Problems) -> tuple[Problem | None, Place | str]:
    """The problem of a row and its place; or no problem, and why there is none."""
    if row.problem:
        return None, row.problem
    ids: dict[str, int | None] = {}
    for what, field in (("level", fields.level), ("problem id", fields.problem), ("sample id", fields.sample)):
        value = row.data.get(field) if field else None
        ids[what] = parse_number(value)
        if field and ids[what] is None and (value is not None or what == "problem id"):
            return None, f"its {what} {field!r} is no whole number"
    code = _text(row, fields.ref)
    if not code.strip():
        return None, f"its field {fields.ref!r} holds no code"
    problem = problems.get(code, ids["level"], ids["problem id"], row.number)
    number = problem.problem_id if ids["problem id"] is None else ids["problem id"]
    assert number is not None  # Problems of rows without ids are numbered.
    return problem, Place(ids["level"], number, ids["sample id"])


def _submission(row: _Row, fields: Fields, problem: Problem, where: str, identifier: str) -> Submission:
    code = _text(row, fields.code)
    if not code.strip():
        return Submission(identifier, problem.task_id, "", where, problem=f"its field {fields.code!r} holds no code")
    if len(code) > LARGEST:
        return Submission(identifier, problem.task_id, "", where, problem=f"the kernel is larger than {LARGEST >> 20} MiB")
    return attach(code, problem, path=where, id=identifier)


def _rows(path: Path) -> Iterator[_Row]:
    """The rows of a file, numbered by line; what is no object has its problem."""
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield _row(path, number, line)
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror or error}", where=str(path)) from error


def _row(path: Path, number: int, line: bytes) -> _Row:
    try:
        data = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return _Row(number, {}, "the row is not UTF-8 text")
    except (ValueError, RecursionError) as error:
        if number == 1 and line.strip() in (b"[", b"{"):
            raise KcbenchError("expected JSON Lines, found JSON over several lines", where=str(path), fix=_FIX) from error
        return _Row(number, {}, f"the row is not JSON: {error}")
    if isinstance(data, list) and number == 1:
        raise KcbenchError("expected JSON Lines, found one JSON list", where=str(path), fix=_FIX)
    if not isinstance(data, dict):
        return _Row(number, {}, "the row is not a JSON object")
    return _Row(number, data)


def _check_fields(path: Path, rows: list[_Row], fields: Fields) -> None:
    known = sorted({str(name) for row in rows for name in row.data})
    if not known:
        raise KcbenchError("holds no row that is a JSON object", where=str(path))
    for option, field in (
        ("--ref-field", fields.ref),
        ("--code-field", fields.code),
        ("--level-field", fields.level),
        ("--problem-field", fields.problem),
        ("--sample-field", fields.sample),
    ):
        if field and field not in known:
            fix = f"its rows have {', '.join(known[:20])}"
            raise KcbenchError(f"no row has the field {field!r}", where=f"{path} ({option})", fix=fix)


def _text(row: _Row, field: str) -> str:
    """The text in a field; empty where there is none, or where half of a surrogate pair makes it no text."""
    value = row.data.get(field)
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        return ""
    return value
