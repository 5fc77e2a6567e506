"""Parquet files: equal rows give equal bytes, and what cannot be read says so in one line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcbench.domain.schema import validate
from kcbench.errors import KcbenchError
from kcbench.hub.columns import arrow_schema, columns, require_pyarrow


def write(path: Path, rows: Sequence[Mapping[str, Any]], table: str) -> str:
    """Write rows to a Parquet file, in the given order.

    Args:
        path: The file; its folder is made where it is missing.
        rows: The rows, each as the schema of the table asks.
        table: Which table they belong to, see :mod:`kcbench.hub.columns`.

    Returns:
        SHA-256 of the file.

    Raises:
        KcbenchError: A row does not fit the schema; the message names the row and the column.
        MissingExtraError: pyarrow is not installed.
    """
    pa = require_pyarrow()
    import pyarrow.parquet as pq

    for number, row in enumerate(rows):
        validate(row, table, source=f"{path.name}, row {number} ({row.get('id') or row.get('submission')})")
    path.parent.mkdir(parents=True, exist_ok=True)
    # The page index and chunks cut by content are what the Hub's viewer and its deduplication work with.
    options = {"compression": "zstd", "write_page_index": True, "use_content_defined_chunking": True}
    pq.write_table(pa.Table.from_pylist(list(rows), schema=arrow_schema(table)), path, **options)
    return digest(path)


def read(path: Path, table: str) -> list[dict[str, Any]]:
    """Read the rows of a Parquet file, in their order; columns that the table does not have are left out.

    Raises:
        KcbenchError: The file is missing, cannot be read, or lacks a column or has one of another type.
        MissingExtraError: pyarrow is not installed.
    """
    pa = require_pyarrow()
    import pyarrow.parquet as pq

    wanted = arrow_schema(table)
    fix = "download or build the dataset again"
    if not path.is_file():
        raise KcbenchError("the file is missing", where=str(path), fix=fix)
    try:
        found = pq.ParquetFile(path).schema_arrow
        missing = [column.name for column in columns(table) if column.name not in found.names]
        if missing:
            raise KcbenchError(f"has no column {', '.join(missing)}", where=str(path), fix=fix)
        rows: list[dict[str, Any]] = pq.read_table(path, columns=wanted.names).cast(wanted).to_pylist()
    except (pa.ArrowException, OSError) as error:
        line = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise KcbenchError(f"is no Parquet file that can be read: {line[:200]}", where=str(path), fix=fix) from error
    return rows


def digest(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        KcbenchError: It cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise KcbenchError(f"cannot be read: {error.strerror}", where=str(path)) from error
