"""Writing what a run found, for a program to read."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcbench.errors import KcbenchError

if TYPE_CHECKING:
    from kcbench.domain.result import Result
    from kcbench.report.gap import Gap

FORMAT = 1
"""Version of the file that ``--json`` writes (``report.schema.json``)."""

STDOUT = Path("-")


def check_writable(path: Path | None) -> None:
    """Find out before the work, not after it, that a file cannot be written.

    Raises:
        KcbenchError: Its folder is missing, or it is a folder.
    """
    if path is None or path == STDOUT:
        return
    if path.is_dir():
        raise KcbenchError("expected a file, found a folder", where=str(path))
    if not path.absolute().parent.is_dir():
        raise KcbenchError("the folder of this file does not exist", where=str(path))


def write_json(path: Path, data: Any) -> None:
    """Write JSON to a file, or to stdout for ``-``.

    Raises:
        KcbenchError: The file cannot be written.
    """
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    if path == STDOUT:
        sys.stdout.write(text)
    else:
        write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        KcbenchError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise KcbenchError(f"cannot be written: {error.strerror}", where=str(path)) from error


def report_json(header: Mapping[str, Any], results: Sequence[Result], gaps: Sequence[Gap]) -> dict[str, Any]:
    """A run as ``report.schema.json`` describes it; the gap is the one to the first legacy check."""
    from kcbench.report.journal import plain

    return {
        "format": FORMAT,
        "run": plain(header),
        "results": [plain(result.to_json()) for result in results],
        "gap": plain(gaps[0].to_json()) if gaps else None,
    }
