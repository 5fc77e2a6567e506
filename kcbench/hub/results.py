"""Results: the rows of a run as a results dataset holds them, with the columns of ``result_row.schema.json``.

A run's own ``results.parquet`` has a column for each legacy check and each field of the environment that the run knows. Here the
columns are the same for all runs, so that the files of many runs are one table, and every row says how its run was made. A second
table has one row for each submission, see :mod:`kcbench.hub.submissions`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcbench.domain import verdict as v
from kcbench.domain.result import Result
from kcbench.domain.verdict import Verdict
from kcbench.errors import KcbenchError
from kcbench.hub.columns import RESULTS, SUBMISSIONS, columns
from kcbench.hub.origin import Origin
from kcbench.hub.parquet import write
from kcbench.hub.submissions import Calls, Source, replayed_calls, submission_row
from kcbench.report.journal import plain
from kcbench.report.parquet import frame
from kcbench.report.store import RunFolder
from kcbench.report.text import clean

FOLDERS = {RESULTS: "data", SUBMISSIONS: "submissions"}
"""Where a results dataset has the files of each table. A run has the same file name in both."""
_NEVER_NULL = ("author", "language", "entry")


@dataclass(frozen=True)
class RunFiles:
    """The files of one run.

    Attributes:
        run: Digest of the run's header, cut to 16 digits.
        digest: Digest of all rows, cut likewise.
        files: By path below the dataset, where they lie.
        rows: Rows of the result table.
    """

    run: str
    digest: str
    files: Mapping[str, Path]
    rows: int

    @property
    def prefix(self) -> str:
        """How the names of all files of this run begin, whatever its rows."""
        return f"run-{self.run}-"


def write_run(run: Path, out: Path, *, sources: Mapping[str, str] | None = None) -> RunFiles:
    """Write both tables of a run as files of a results dataset.

    Args:
        run: A run folder. Source texts are read from where they were scored, if they are still there.
        out: Folder of the dataset.
        sources: For a run that somebody else sent, whose paths and problems are not to be opened here: source texts by digest. No
            calls are replayed then.

    Raises:
        KcbenchError: It is no run folder, is damaged, or has no results yet; a file cannot be written.
        MissingExtraError: pyarrow is not installed.
    """
    from kcbench.suites.scored import scored_source

    def source(result: Result) -> str:
        if sources is None:
            return scored_source(result, header)
        if (text := sources.get(result.submission["digest"])) is None:
            raise KcbenchError("it was not sent with the run", where=result.id)
        return text

    with RunFolder.open(run) as folder:
        results, header = folder.results(), folder.header
        if not results:
            raise KcbenchError("the run has no results yet", where=str(run))
        calls = replayed_calls(folder) if sources is None else None
        tables = {
            RESULTS: result_rows(results, header),
            SUBMISSIONS: submission_rows(results, header, source=source, calls=calls),
        }
    # Of the rows, not of the bytes: another version of pyarrow writes the same rows in another way.
    digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()[:16]
    name = run_digest(header)[:16]
    files = {f"{FOLDERS[table]}/run-{name}-{digest}.parquet": table for table in tables}
    for path, table in files.items():
        try:
            write(out / path, tables[table], table)
        except OSError as error:
            raise KcbenchError(f"cannot be written: {error.strerror or error}", where=str(out / path)) from error
    return RunFiles(name, digest, {path: out / path for path in files}, len(tables[RESULTS]))


def submission_rows(
    results: Sequence[Result], header: Mapping[str, Any], *, source: Source | None = None, calls: Calls | None = None
) -> list[dict[str, Any]]:
    """One row for each submission, ordered by id.

    Args:
        results: What a run says.
        header: ``run.json``.
        source: Where source texts come from, see :func:`kcbench.hub.submissions.submission_row`.
        calls: Where calls come from.
    """
    run = _of_run(header)
    ordered = sorted(results, key=lambda result: result.id)
    return [submission_row(result, {**run, **_of_submission(result, header)}, source, calls) for result in ordered]


def result_rows(results: Sequence[Result], header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each submission and gate, ordered by submission.

    Args:
        results: What a run says.
        header: ``run.json``.
    """
    run = _of_run(header)
    ordered = sorted(results, key=lambda result: result.id)
    by_id = {row["submission"]: row for row in (_of_submission(result, header) for result in ordered)}
    verdicts = [verdict for result in ordered for verdict in (result.verdicts or (None,))]
    rows = []
    for found, verdict in zip(frame(ordered, header).to_dicts(), verdicts, strict=True):
        known = {**found, **_of_verdict(verdict), **run, **by_id[found["submission"]]}
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


def _of_verdict(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {"silent_codes": None, "findings": None}
    silent = {f"{verdict.gate}.{finding.code}" for finding in verdict.findings if finding.silent}
    failed = verdict.status == v.FAIL
    return {"silent_codes": sorted(silent) if failed else None, "findings": len(verdict.findings)}


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
