"""Detail: everything that is published about one submission. All of it is untrusted text, cut to a size that a page can show."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from kcbench.domain.timing import Timing
from kcbench.domain.verdict import Verdict
from kcbench.errors import KcbenchError
from kcbench.hub.address import SCHEME
from kcbench.hub.origin import KCBENCH, LOCAL
from kcbench.leaderboard.aggregate import RUN_FACTS, cleaned, submission_frame
from kcbench.leaderboard.evidence import Evidence, scripts
from kcbench.leaderboard.figures import OUTCOMES
from kcbench.leaderboard.files import ResultsFile
from kcbench.leaderboard.filters import LEGACY_CHECKS, Filters
from kcbench.leaderboard.index import Index
from kcbench.leaderboard.judged import Judged
from kcbench.leaderboard.patterns import STATUSES
from kcbench.report.text import clean
from kcbench.tasks import list_tasks, load_task


@dataclass(frozen=True)
class Detail:
    """One submission."""

    run: str
    submission: str
    task: str
    author: str
    language: str
    entry: str
    digest: str
    """SHA-256 of the source text."""
    outcome: str
    """One of :data:`kcbench.leaderboard.figures.OUTCOMES`."""
    status: str
    reason: str
    labels: tuple[str, ...]
    legacy: tuple[tuple[str, bool], ...]
    """Legacy checks that scored it, and whether they accept it."""
    legacy_size: str
    verdicts: tuple[Verdict, ...]
    """``GUARD`` first. Where a run published no evidence, findings have a code and a sentence only."""
    evidence: bool
    """The verdicts have their evidence."""
    source: str
    """Source text; empty where it was not published."""
    scripts: Mapping[str, str]
    """Reproduction scripts by ``GATE.code``, those that can be made; plain torch."""
    timing: Timing | None
    untimed: str
    """Why there is no timing; empty where there is one, or none was asked for."""
    resources: Mapping[str, Any]
    """What was read from the compiled kernels: registers, spills, shared memory."""
    environment: Mapping[str, Any]
    run_facts: Mapping[str, str]
    """The columns of :data:`kcbench.leaderboard.aggregate.RUN_FACTS`."""
    created: datetime | None
    verified: bool
    command: str
    """The command that scores it again."""
    notes: tuple[str, ...]
    """What was cut, or could not be read."""


def read_detail(index: Index, files: Mapping[str, ResultsFile], run: str, submission: str) -> Detail | None:
    """Everything published about one submission; None where there is no such.

    Args:
        index: The index.
        files: The files that it was made of, by name.
        run: Digest of the run.
        submission: Id of the submission.
    """
    if run not in index.lists["run"]:
        return None
    wanted = (pl.col("run") == index.lists["run"].index(run)) & (pl.col("submission") == submission)
    found = index.rows.filter(wanted).head(1).to_dicts()
    if not found:
        return None
    [row] = found
    texts = {name: index.lists[name][row[name]] for name in ("task", "author", "language", "legacy_size")}
    facts = index.runs.row(int(index.run_rows[row["run"]]), named=True)
    evidence = Evidence(_submission_row(index, files, row))
    verdicts = evidence.verdicts()
    judged = Judged.of(index.patterns, Filters())
    source, entry = evidence.source(), evidence.text("entry", 100)
    task = texts["task"]
    calls = evidence.calls()
    scores = [(check, int(index.patterns.legacy(check)[row["pattern"]])) for check in LEGACY_CHECKS]
    return Detail(
        run=run,
        submission=submission,
        task=task,
        author=texts["author"],
        language=texts["language"],
        entry=entry,
        digest=evidence.text("submission_digest", 64),
        outcome=OUTCOMES[int(judged.outcomes[row["pattern"]])],
        status=STATUSES[int(index.patterns.status[row["pattern"]])],
        reason=evidence.text("reason"),
        labels=evidence.labels(),
        legacy=tuple((check, bool(said)) for check, said in scores if said >= 0),
        legacy_size=texts["legacy_size"],
        verdicts=judged.verdicts(row["pattern"]) if verdicts is None else verdicts,
        evidence=verdicts is not None,
        source=clean(source),
        scripts=scripts(
            verdicts or (),
            calls,
            source=source,
            entry=entry,
            title=f"{submission} on {task}",
            facts={"interpreted": row["interpreted"], "device": facts["device"], "problem": _problem(task, calls)},
        ),
        timing=evidence.timing(),
        untimed=evidence.text("untimed"),
        resources=evidence.mapping("resources"),
        environment=evidence.mapping("environment"),
        run_facts={name: facts[name] for name in RUN_FACTS},
        created=facts["began"],
        verified=row["verified"],
        command=_command(submission, task, facts),
        notes=tuple(evidence.notes),
    )


def _submission_row(index: Index, files: Mapping[str, ResultsFile], row: Mapping[str, Any]) -> dict[str, Any]:
    """The submission row, or what can be said without one."""
    name = None if row["file"] is None else index.files[row["file"]]
    if name is None or name not in files:
        return {"cut": ["the run has published verdicts only, and no evidence"]}
    try:
        frame = submission_frame(files[name]).slice(row["row"], 1)
        found = frame.with_columns(key=cleaned("submission", frame.collect_schema())).collect().to_dicts()
    except (KcbenchError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return {"cut": ["the file with the evidence cannot be read any more"]}
    # A file that was replaced since it was indexed has another submission in this place.
    same = found and found[0].get("run") == index.lists["run"][row["run"]] and found[0]["key"] == row["submission"]
    return found[0] if same else {"cut": ["the file with the evidence has changed: reload the page"]}


def _problem(task: str, calls: Mapping[str, Any]) -> str:
    """Source text of the problem, if it makes an input of a call: scripts embed it then."""
    if '"given"' not in json.dumps(calls) or task not in list_tasks():
        return ""
    try:
        return load_task(task).code
    except KcbenchError:
        return ""


def _command(submission: str, task: str, facts: Mapping[str, Any]) -> str:
    """The command that scores the file again."""
    tasks = "" if facts["dataset"] in (KCBENCH, LOCAL, "") else f" --tasks {SCHEME}{facts['dataset']}@{facts['dataset_version']}"
    file = f"{submission.split('/')[-1]}.py"
    words = ["kcbench", "eval", file, "--task", task, "--device", facts["device"], "--seed", facts["seed"]]
    return shlex.join([*words, *tasks.split()])
