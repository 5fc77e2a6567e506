"""Manifest: ``kcbench.json``, what a built dataset folder says of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kcbench.domain.schema import read_json, validate
from kcbench.errors import KcbenchError

FORMAT = 1
"""Version of the folder's layout and of its columns."""
NAME = "kcbench.json"
SPLIT = "test"


def config_of(level: int) -> str:
    """Name of a level's configuration."""
    return f"level_{level}"


def data_file(config: str) -> str:
    """Path of a configuration's Parquet file in the folder."""
    return f"data/{config}/{SPLIT}-00000-of-00001.parquet"


@dataclass(frozen=True)
class Manifest:
    """Which version of the tasks a folder holds, and the digests of its files."""

    version: str
    """Version of the dataset: the git tag of its repository."""
    kcbench_version: str
    configs: Mapping[str, int]
    """Rows by configuration."""
    files: Mapping[str, str]
    """SHA-256 of each Parquet file, by its path in the folder."""

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        data = {
            "format": FORMAT,
            "version": self.version,
            "kcbench_version": self.kcbench_version,
            "configs": dict(self.configs),
            "files": dict(self.files),
        }
        validate(data, "dataset", source=NAME)
        (folder / NAME).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a folder.

        Raises:
            KcbenchError: The folder is no dataset of kcbench or one of a newer format, or its manifest is damaged.
        """
        path = folder / NAME
        if not path.is_file():
            raise KcbenchError(f"is no dataset of kcbench: it has no {NAME}", where=str(folder))
        data = read_json(path)
        version = data.get("format") if isinstance(data, dict) else None
        if isinstance(version, int) and version > FORMAT:
            what = f"the dataset has format {version}, and this kcbench reads formats up to {FORMAT}"
            raise KcbenchError(what, where=str(path), fix="pip install -U kcbench, or use an earlier tag of the dataset")
        validate(data, "dataset", source=str(path))
        return cls(data["version"], data["kcbench_version"], data["configs"], data["files"])
