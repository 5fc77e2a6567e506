"""Files: what in a results folder holds results. Nothing outside the folder is opened, and no path that the data name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kcbench.leaderboard.figures import VERIFIED
from kcbench.report.store import HEADER, JOURNAL
from kcbench.report.text import one_line

DEEPEST, MOST = 6, 20_000
"""How deep folders are searched, and how many files are looked at."""
LARGEST = 2 << 30
"""Largest file that is read, in bytes."""
_TAIL = 64 << 10
"""How much of the end of a file, where Parquet keeps its statistics, goes into its key."""


@dataclass(frozen=True)
class ResultsFile:
    """A Parquet file, or a run folder."""

    path: Path
    name: str
    """Path below the results folder."""
    size: int
    changed: int
    """Time of the last change, in nanoseconds."""
    is_run: bool = False

    @property
    def verified(self) -> bool:
        """Whether it lies in the folder that only maintainers write to."""
        return self.name.split("/")[0] == VERIFIED

    def key(self) -> str:
        """What names its content in the cache.

        Raises:
            OSError: It cannot be read.
        """
        digest = hashlib.sha256(f"{self.is_run} {self.size} {self.changed}".encode())
        for part in [self.path / HEADER, self.path / JOURNAL] if self.is_run else [self.path]:
            with part.open("rb") as stream:
                stream.seek(max(0, part.stat().st_size - _TAIL))
                digest.update(stream.read(_TAIL))
        return digest.hexdigest()


def find_files(root: Path, *, within: Path | None = None) -> tuple[list[ResultsFile], list[str]]:
    """The results below a folder, sorted by name, and what was left alone, one line each.

    Args:
        root: The folder.
        within: Where links may lead; the folder itself if not given.
    """
    border = (within or root).resolve()
    found: list[ResultsFile] = []
    faults: list[str] = []
    for path in _candidates(root):
        name = path.relative_to(root).as_posix() if path != root else path.name
        if len(found) >= MOST:
            faults.append(f"more than {MOST:,} files: the others are not read")
            break
        try:
            is_run = path.is_dir()
            pieces = [path / HEADER, path / JOURNAL] if is_run else [path]
            if not all(piece.resolve(strict=True).is_relative_to(border) for piece in pieces):
                faults.append(f"{one_line(name, limit=200)}: leads out of the folder")
                continue
            parts = [piece.stat() for piece in pieces]
        except OSError as error:
            faults.append(f"{one_line(name, limit=200)}: cannot be read: {error.strerror}")
            continue
        size = sum(part.st_size for part in parts)
        if size > LARGEST:
            faults.append(f"{one_line(name, limit=200)}: is larger than {LARGEST >> 30} GiB")
            continue
        found.append(ResultsFile(path, name, size, max(part.st_mtime_ns for part in parts), is_run))
    return sorted(found, key=lambda file: file.name), faults


def _candidates(root: Path) -> Iterator[Path]:
    """Run folders, and Parquet files outside of them; what begins with a dot is left out."""
    for folder, folders, names in os.walk(root, followlinks=False):
        place = Path(folder)
        if HEADER in names and JOURNAL in names:
            folders.clear()
            yield place
            continue
        deep = len(place.relative_to(root).parts) >= DEEPEST
        folders[:] = [] if deep else sorted(name for name in folders if not name.startswith("."))
        yield from (place / name for name in sorted(names) if name.endswith(".parquet") and not name.startswith("."))
