"""Cache: tables kept as Parquet under a name that says all they depend on. What cannot be read or written is made anew."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

Tables = Mapping[str, pl.DataFrame]
_UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)


class Cache:
    """A folder of tables.

    Args:
        folder: Where; made when something is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, kind: str, key: str, names: tuple[str, ...], make: Callable[[], Tables], *, most: int) -> Tables:
        """Tables that were kept, or else what ``make`` gives.

        Args:
            kind: What they are; a folder of the cache.
            key: What they depend on.
            names: Names of the tables.
            make: Makes them.
            most: How many keys of this kind to keep; the oldest go.
        """
        place = self.folder / kind / key
        with contextlib.suppress(*_UNREADABLE):
            found = {name: pl.read_parquet(place / f"{name}.parquet", memory_map=False) for name in names}
            os.utime(place)
            return found
        made = make()
        with contextlib.suppress(OSError):
            self._keep(place, {name: made[name] for name in names})
            self._prune(place.parent, most)
        return made

    def _keep(self, place: Path, tables: Tables) -> None:
        place.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            descriptor, part = tempfile.mkstemp(dir=place, prefix=".", suffix=".part")
            os.close(descriptor)
            try:
                table.write_parquet(part, compression="lz4")
                os.replace(part, place / f"{name}.parquet")
            finally:
                Path(part).unlink(missing_ok=True)

    def _prune(self, folder: Path, most: int) -> None:
        kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in kept[most:]:
            for path in old.iterdir():
                path.unlink(missing_ok=True)
            old.rmdir()
