"""Whether a folder is a whole dataset of kcbench: before it is published, and after it came from the Hub."""

from __future__ import annotations

from pathlib import Path

from kcbench.errors import KcbenchError
from kcbench.hub import manifest, parquet
from kcbench.hub.manifest import Manifest
from kcbench.hub.results import FOLDERS


def verify_dataset(folder: Path) -> Manifest:
    """Compare the Parquet files of a built dataset with its manifest.

    Raises:
        KcbenchError: The folder is no dataset of kcbench, has a newer format, or one of its files is missing or was changed.
    """
    if not folder.is_dir():
        raise KcbenchError("there is no such folder", where=str(folder))
    found = Manifest.read(folder)
    for name, digest in found.files.items():
        if parquet.digest(folder / name) != digest:
            fix = "download or build the dataset again"
            raise KcbenchError(f"is not the file that {manifest.NAME} names", where=str(folder / name), fix=fix)
    return found


def verify_download(folder: Path) -> None:
    """Check what came from the Hub: a dataset of tasks by its manifest, one of results by reading it.

    Raises:
        KcbenchError: It is neither, or damaged.
    """
    results = {path: table for table, place in FOLDERS.items() for path in sorted(folder.glob(f"{place}/*.parquet"))}
    if results and not (folder / manifest.NAME).exists():
        for path, table in results.items():
            parquet.read(path, table)
    else:
        verify_dataset(folder)
