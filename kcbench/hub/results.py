"""Results: the rows of a run as a results dataset holds them, with the columns of ``result_row.schema.json``.

A run's own ``results.parquet`` has a column for each legacy check and each field of the environment that the run knows. Here the
columns are the same for all runs, so that the files of many runs are one table, and every row says how its run was made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcbench.domain.result import Result
from kcbench.errors import KcbenchError
from kcbench.hub.columns import RESULTS, columns
from kcbench.hub.origin import Origin
from kcbench.hub.parquet import write
from kcbench.report.journal import plain
from kcbench.report.parquet import frame
from kcbench.report.store import RunFolder
from kcbench.report.text import clean

_NEVER_NULL = ("author", "language", "entry")


def write_results(run: Path, path: Path) -> int:
    """Write the rows of a run to a Parquet file.

    Args:
        run: A run folder.
        path: The file.

    Returns:
        How many rows it has.

    Raises:
        KcbenchError: It is no run folder, is damaged, or has no results yet; the file cannot be written.
        MissingExtraError: pyarrow is not installed.
    """
    with RunFolder.open(run) as folder:
        results, header = folder.results(), folder.header
    if not results:
        raise KcbenchError("the run has no results yet", where=str(run))
    rows = result_rows(results, header)
    try:
        write(path, rows, RESULTS)
    except OSError as error:
        raise KcbenchError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
    return len(rows)


def result_rows(results: Sequence[Result], header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each submission and gate, ordered by submission.

    Args:
        results: What a run says.
        header: ``run.json``.
    """
    run = _of_run(header)
    ordered = sorted(results, key=lambda result: result.id)
    by_id = {row["submission"]: row for row in (_of_submission(result, header) for result in ordered)}
    rows = []
    for found in frame(ordered, header).to_dicts():
        known = {**found, **run, **by_id[found["submission"]]}
        rows.append({column.name: known[column.name] for column in columns(RESULTS)})
    return rows


def run_digest(header: Mapping[str, Any]) -> str:
    """SHA-256 of a run's header, which names the run."""
    return hashlib.sha256(json.dumps(plain(header), sort_keys=True).encode()).hexdigest()


def _of_run(header: Mapping[str, Any]) -> dict[str, Any]:
    origin = Origin.of(header)
    return {
        "run": run_digest(header),
        "created": header["created"],
        "kcbench": header["kcbench_version"],
        "dataset": origin.dataset,
        "dataset_version": origin.version,
        "device": header["device"]["kind"],
        "device_name": header["device"]["name"],
        "sandbox": header["sandbox"]["tier"],
        "seed": str(header["seed"]),
        "bounds": header["bounds"],
    }


def _of_submission(result: Result, header: Mapping[str, Any]) -> dict[str, Any]:
    facts = result.submission
    return {
        "submission": clean(result.id),
        "submission_digest": facts["digest"],
        "task_digest": header["tasks"].get(result.task),
        "suite": facts.get("origin", {}).get("suite"),
        "packs_weights": bool(facts.get("packs_weights")),
        "environment": json.dumps(plain(result.environment), sort_keys=True),
        **{name: clean(facts.get(name) or "") for name in _NEVER_NULL},
    }
