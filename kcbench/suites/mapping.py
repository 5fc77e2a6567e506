"""Mapping files: which problem the kernels of a folder are for, where their names do not say it.

JSON, ``{"a.py": "1/36", "b.py": {"level": 1, "problem_id": 36, "sample_id": 2}}`` or a list of objects with ``file``; or CSV with
the columns ``file`` and either ``problem`` (``1/36``) or ``level`` and ``problem_id``, and maybe ``sample_id``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from kcbench.domain.schema import read_json
from kcbench.errors import KcbenchError
from kcbench.suites.samples import Place, count_samples, parse_number, parse_pair

_FORM = 'write "1/36", or level and problem_id, each a whole number, and maybe sample_id'


def read_mapping(path: Path) -> dict[str, Place]:
    """Read a mapping file.

    Returns:
        Places by file name below the folder of kernels. Samples that the file does not tell are counted, in its order.

    Raises:
        KcbenchError: The file cannot be read, or one of its entries cannot be understood.
    """
    entries = list(_from_csv(path) if path.suffix.lower() == ".csv" else _from_json(path))
    if not entries:
        raise KcbenchError("the mapping is empty", where=str(path))
    places: dict[str, Place] = {}
    for where, name, value in entries:
        if not isinstance(name, str) or not name.strip():
            raise KcbenchError(f"{where} names no file", where=str(path))
        file = str(PurePosixPath(name.strip()))
        place = _place(value)
        if place is None:
            raise KcbenchError(f"{where} does not say which problem {file!r} is for", where=str(path), fix=_FORM)
        if file in places:
            raise KcbenchError(f"{where} names {file!r} again", where=str(path))
        places[file] = place
    return dict(zip(places, count_samples(places.values()), strict=True))


def _place(value: Any) -> Place | None:
    if isinstance(value, str):
        return parse_pair(value)
    if not isinstance(value, Mapping):
        return None
    sample = value.get("sample_id")
    sample = None if sample in (None, "") else parse_number(sample)
    if sample is None and value.get("sample_id") not in (None, ""):
        return None
    if value.get("problem") not in (None, ""):
        pair = parse_pair(value["problem"]) if isinstance(value["problem"], str) else None
        return Place(pair.level, pair.problem_id, sample) if pair else None
    level, problem_id = parse_number(value.get("level")), parse_number(value.get("problem_id"))
    return None if level is None or problem_id is None else Place(level, problem_id, sample)


def _from_json(path: Path) -> Iterator[tuple[str, Any, Any]]:
    data = read_json(path)
    if isinstance(data, Mapping):
        yield from ((f"the entry of {name!r}", name, value) for name, value in data.items())
    elif isinstance(data, list):
        for number, value in enumerate(data, 1):
            yield f"entry {number}", value.get("file") if isinstance(value, Mapping) else None, value
    else:
        raise KcbenchError("expected an object or a list", where=str(path), fix='for example {"kernel.py": "1/36"}')


def _from_csv(path: Path) -> Iterator[tuple[str, Any, Any]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise KcbenchError("is not UTF-8 text", where=str(path)) from error
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        if "file" not in (reader.fieldnames or ()):
            fix = "the first line names the columns: file,problem or file,level,problem_id,sample_id"
            raise KcbenchError("has no column 'file'", where=str(path), fix=fix)
        for row in reader:
            yield f"line {reader.line_num}", row["file"], row
    except csv.Error as error:
        raise KcbenchError(f"line {reader.line_num} is not CSV: {error}", where=str(path)) from error
