"""The source text of a submission that was scored before, if it still is the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcbench.domain.result import Result
from kcbench.errors import KcbenchError
from kcbench.suites.folder import parse_submission, read
from kcbench.suites.rows import read_row


def scored_source(result: Result, header: Mapping[str, Any], *, moved: Path | None = None) -> str:
    """Read the file, or the row, that a result is about.

    Args:
        result: The result.
        header: ``run.json``.
        moved: Where the file is now, if it is no longer where it was.

    Raises:
        KcbenchError: It is not there, or has changed since the run.
    """
    path = moved or Path(str(result.submission["path"]))
    field = header["options"].get("code_field")
    fix = "name the file that was scored with --source"
    if moved is None and field:
        file, _, number = str(path).rpartition(":")
        text = read_row(Path(file), int(number), field)
        found = parse_submission(text, path=str(path), id=result.id, task=result.task)
    elif not path.is_file():
        raise KcbenchError("the submission is not there", where=str(path), fix=fix)
    else:
        found = read(path, identifier=result.id, known=[result.task], task=result.task)
    if found.digest != result.submission["digest"]:
        raise KcbenchError("the submission has changed since the run", where=str(path), fix=fix)
    return found.source
