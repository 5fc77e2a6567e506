"""Synthetic results, to test the leaderboard with: ``python -m kcbench.leaderboard.synthetic --rows 1000000 --out DIR``.

Everything in them is drawn at random and labelled: ``dataset`` is ``synthetic`` in every row, authors are called
``synthetic-<number>``, and the leaderboard shows them only where there is nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from kcbench import __version__
from kcbench.domain import verdict as v
from kcbench.hub.columns import RESULTS, SUBMISSIONS, columns
from kcbench.hub.results import FOLDERS
from kcbench.leaderboard.index import SYNTHETIC
from kcbench.report.catalog import GATES
from kcbench.report.sentences import SENTENCES
from kcbench.tasks import list_tasks

IN_RUN = 50_000
"""The most submissions of one run."""
AUTHORS = 40
LANGUAGES = ("triton", "cuda", "torch")
DEVICES = (("cuda", "NVIDIA H200"), ("cuda", "NVIDIA A100"), ("cpu", "a CPU"))
SOURCE = '"""Synthetic: no kernel stands behind this row."""\n\nclass ModelNew: ...\n'
_FAILS = np.array([0.05, 0.25, 0.2, 0.3, 0.08, 0.12, 0.15, 0.25, 0.1, 0.3, 0.1, 0.04, 0.05])
"""By gate, how often a defect shows there."""
FAMILIES, DEFECTS = 24, 300
_CODES = [[code for code in SENTENCES if code.startswith(f"{gate.id}.")] for gate in GATES]
_MOST_CODES = 4
"""How many codes of a gate are used."""
_KINDS: dict[str, Any] = {
    "string": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "boolean": pl.Boolean,
    "strings": pl.List(pl.String),
}


def write_synthetic(out: Path, rows: int, *, seed: int = 0) -> list[Path]:
    """Write files of a results dataset.

    Args:
        out: Folder of the dataset.
        rows: Submissions, each with an answer of the guard and of every gate.
        seed: The same seed writes the same rows.

    Returns:
        The files.
    """
    made: list[Path] = []
    for number, first in enumerate(range(0, rows, IN_RUN)):
        made += _write_run(out, number, min(IN_RUN, rows - first), np.random.default_rng((seed, number)))
    return made


def _write_run(out: Path, number: int, rows: int, rng: np.random.Generator) -> Iterator[Path]:
    facts = _run_facts(number)
    submissions = _submissions(number, rows, facts, rng)
    answers = _answers(submissions, rng, skill=0.15 + 0.8 * ((number * 7) % AUTHORS) / AUTHORS)
    submissions = _judged(submissions, answers, rng)
    tables = {RESULTS: _result_rows(submissions, answers), SUBMISSIONS: _submission_rows(submissions, answers, rng)}
    for table, frame in tables.items():
        path = out / FOLDERS[table] / f"run-{facts['run'][:16]}-{SYNTHETIC}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = {column.name: _KINDS[column.kind] for column in columns(table)}
        frame.select(pl.col(name).cast(kind) for name, kind in known.items()).write_parquet(path, row_group_size=20_000)
        yield path


def _run_facts(number: int) -> dict[str, Any]:
    kind, name = DEVICES[number % len(DEVICES)]
    began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=7 * number)
    return {
        "run": hashlib.sha256(f"{SYNTHETIC} {number}".encode()).hexdigest(),
        "created": began.isoformat(),
        "kcbench": __version__,
        "dataset": SYNTHETIC,
        "dataset_version": __version__,
        "device": kind,
        "device_name": name,
        "sandbox": ("process", "landlock", "bwrap")[number % 3],
        "seed": str(number),
        "bounds": "stochastic",
    }


def _submissions(number: int, rows: int, facts: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """What a run knows of its submissions before they are judged: tasks in turn, so many samples of each."""
    tasks = pl.Series(list_tasks())
    place = np.arange(rows)
    task, sample = tasks[place % len(tasks)], pl.Series(place // len(tasks))
    status = rng.choice(["scored", "unloadable", "skipped", "error"], rows, p=[0.955, 0.03, 0.01, 0.005])
    author = f"synthetic-{number % AUTHORS:02d}"
    frame = pl.DataFrame({"task": task, "sample_id": sample, "status": status.tolist()})
    digest = hashlib.sha256(SOURCE.encode()).hexdigest()
    return frame.with_columns(
        *(pl.lit(value).alias(name) for name, value in facts.items()),
        pl.concat_str(pl.lit(f"{author}/run{number}/"), "task", pl.lit("/sample_"), "sample_id").alias("submission"),
        pl.lit(author).alias("author"),
        pl.lit(LANGUAGES[number % len(LANGUAGES)]).alias("language"),
        pl.lit(digest).alias("submission_digest"),
        pl.lit("0" * 64).alias("task_digest"),
        pl.lit("ModelNew").alias("entry"),
        pl.lit("kernelbench").alias("suite"),
        pl.col("task").str.extract(r"level(\d)").cast(pl.Int64).alias("level"),
        pl.Series("problem_id", place % len(tasks)),
        pl.lit(False).alias("packs_weights"),
        pl.lit([LANGUAGES[number % len(LANGUAGES)]]).alias("labels"),
        pl.concat_str(pl.lit(f"key-{number}-"), pl.Series(place)).alias("key"),
        pl.when(pl.col("status") == "scored").then(pl.lit("")).otherwise(pl.lit("synthetic")).alias("reason"),
        pl.lit(json.dumps({"device": facts["device"], "synthetic": True})).alias("environment"),
    )


def _answers(submissions: pl.DataFrame, rng: np.random.Generator, *, skill: float) -> pl.DataFrame:
    """A row for each submission and gate: its place in ``row``, and what the gate says.

    What does not apply follows from the task. Most faulty kernels have one of some hundred defects, each of which shows in the
    same gates every time; the others have two of them, or fail wherever chance will have it.
    """
    rows, gates = len(submissions), len(GATES)
    family = np.arange(rows) % len(list_tasks()) % FAMILIES
    status = _applies()[family]
    codes = _faults(rows, rng)
    failed = (codes >= 0) & (status == v.PASS) & (rng.random((rows, 1)) > skill)
    status = np.where(failed, v.FAIL, status).astype(object)
    status[rng.random((rows, gates)) < 0.0001] = v.ERROR
    failed = (status == v.FAIL).reshape(-1)
    loud = codes.reshape(-1) % 7 == 3
    names = np.array([[mine[place % len(mine)] for place in range(_MOST_CODES)] for mine in _CODES], dtype=object)
    code = names[np.arange(gates), np.maximum(codes, 0)].reshape(-1)
    frame = pl.DataFrame(
        {
            "row": np.repeat(np.arange(rows, dtype=np.uint32), gates),
            "gate": [gate.id for gate in GATES] * rows,
            "gate_status": status.reshape(-1).tolist(),
            "code": code.tolist(),
            "checks": rng.integers(1, 40, rows * gates),
        }
    )
    one, nothing = pl.concat_list("code"), pl.lit([], pl.List(pl.String))
    return frame.with_columns(
        pl.when(pl.Series(failed)).then(one).otherwise(nothing).alias("codes"),
        pl.when(pl.Series(failed & ~loud)).then(one).when(pl.Series(failed)).then(nothing).alias("silent_codes"),
        pl.Series("findings", failed.astype(np.int64)),
        pl.when(pl.Series(failed)).then("code").alias("code"),
        pl.when(pl.Series(failed)).then(pl.Series(~loud)).alias("silent"),
    )


def _applies() -> npt.NDArray[Any]:
    """By family of tasks and gate: PASS, or why the gate says nothing."""
    rng = np.random.default_rng(1)
    drawn = rng.random((FAMILIES, len(GATES)))
    return np.where(drawn < 0.1, v.NOT_APPLICABLE, np.where(drawn > 0.99, v.REFERENCE_INVALID, v.PASS)).astype(object)


def _faults(rows: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """For each submission and gate which of the gate's codes its fault shows as; -1 where it does not show."""
    fixed = np.random.default_rng(2)
    shape = (DEFECTS, len(GATES))
    shows = fixed.random(shape) < _FAILS * fixed.uniform(0.3, 2.5, (DEFECTS, 1))
    # Every defect shows somewhere.
    shows[np.arange(DEFECTS), fixed.integers(0, len(GATES), DEFECTS)] = True
    defects = np.where(shows, np.minimum(fixed.geometric(0.55, shape) - 1, _MOST_CODES - 1), -1)
    first, second = (np.minimum(rng.zipf(1.4, rows) - 1, DEFECTS - 1) for _ in range(2))
    found = defects[first]
    both = rng.random((rows, 1)) < 0.15
    found = np.where(both & (found < 0), defects[second], found)
    chance = np.where(rng.random((rows, len(GATES))) < 0.2, rng.integers(0, _MOST_CODES, (rows, len(GATES))), -1)
    return np.asarray(np.where(rng.random((rows, 1)) < 0.03, chance, found))


def _judged(submissions: pl.DataFrame, answers: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Submissions with what they come to, and a legacy check that sees few of the faults."""
    found = answers.group_by("row", maintain_order=True).agg(
        (pl.col("gate_status") == v.FAIL).any().alias("failed"), (pl.col("gate_status") == v.ERROR).any().alias("broke")
    )
    scored = submissions["status"] == "scored"
    refused = (scored & found["failed"]) | (submissions["status"] == "unloadable")
    sees = [pl.Series(rng.random(len(submissions)) < share) for share in (0.15, 0.3)]
    unlucky = pl.Series(rng.random(len(submissions)) < 0.02)
    known = submissions["status"].is_in(["scored", "unloadable"])
    legacy = [(~(refused & seen) & ~unlucky & scored).alias("accepted") for seen in sees]
    return submissions.with_columns(
        refused.alias("refused"),
        (scored & ~found["failed"] & ~found["broke"]).alias("clean"),
        *(pl.when(known).then(accepted).alias(name) for name, accepted in zip(("legacy_v0", "legacy_v1"), legacy, strict=True)),
        pl.when(known).then(pl.lit("full")).alias("legacy_size"),
    )


def _result_rows(submissions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    rows = submissions[answers["row"]].hstack(answers.drop("row"))
    mute = dict.fromkeys(answers.drop("row").columns, pl.lit(None))
    told = rows.filter(pl.col("status") == "scored")
    untold = submissions.filter(pl.col("status") != "scored").with_columns(**mute)
    wanted = [column for column in told.columns if column in untold.columns]
    both = pl.concat([told.select(wanted), untold.select(wanted)], how="vertical_relaxed")
    return both.with_columns(
        pl.when(pl.col("gate_status") == v.FAIL).then(pl.lit("synthetic: nothing was run")).alias("summary"),
        pl.when(~pl.col("gate_status").is_in([v.PASS, v.FAIL])).then(pl.lit("synthetic")).alias("gate_reason"),
        pl.lit(None, pl.Float64).alias("worst_ratio"),
    )


def _submission_rows(submissions: pl.DataFrame, answers: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    failed = pl.col("gate_status") == v.FAIL
    parts = pl.concat_str(
        pl.lit('{"checks": '),
        "checks",
        pl.lit(', "findings": ['),
        pl.when(failed)
        .then(
            pl.concat_str(
                pl.lit('{"code": "'),
                pl.col("code").str.split(".").list.last(),
                pl.lit('", "evidence": {}, "probes": [], "silent": '),
                pl.col("silent").cast(pl.String),
                pl.lit(', "summary": "synthetic: nothing was run"}'),
            )
        )
        .otherwise(pl.lit("")),
        pl.lit('], "gate": "'),
        "gate",
        pl.lit('", "metrics": {}, "notes": [], "reason": "", "status": "'),
        "gate_status",
        pl.lit('"}'),
    )
    verdicts = answers.group_by("row", maintain_order=True).agg(parts.str.join(", ").alias("verdicts"))
    scored = submissions["status"] == "scored"
    timed = scored & pl.Series(rng.random(len(submissions)) < 0.9)
    eager = pl.Series(rng.lognormal(0, 1, len(submissions)))
    mine = eager / pl.Series(rng.lognormal(0.1, 0.5, len(submissions)))
    flagged = pl.Series(rng.random(len(submissions)) < 0.01)
    whole = pl.concat_str(pl.lit("["), verdicts["verdicts"], pl.lit("]"))
    nothing = pl.lit([], pl.List(pl.String))
    return submissions.with_columns(
        pl.lit(SOURCE).alias("source"),
        pl.lit("[]").alias("legacy"),
        pl.when(scored).then(whole).otherwise(pl.lit("[]")).alias("verdicts"),
        pl.lit("{}").alias("calls"),
        pl.when(timed).then(eager / mine).alias("speedup"),
        *(pl.when(timed).then(mine).alias(name) for name in ("median_ms", "mean_ms")),
        *(pl.when(timed).then(eager).alias(name) for name in ("eager_median_ms", "eager_mean_ms")),
        pl.when(timed & flagged).then(pl.lit(["excessive-speedup"])).otherwise(nothing).alias("timing_flags"),
        pl.when(timed).then(pl.lit("full")).alias("timing_size"),
        pl.lit(None, pl.String).alias("timing"),
        pl.lit("").alias("untimed"),
        pl.lit("{}").alias("resources"),
        nothing.alias("cut"),
    )


def main() -> None:
    """Write synthetic results, as the command line asks."""
    parser = argparse.ArgumentParser(
        prog="python -m kcbench.leaderboard.synthetic", description="Synthetic results, to test the leaderboard with."
    )
    parser.add_argument("--rows", type=int, required=True, help="submissions")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.rows < 1:
        parser.error("--rows is at least 1")
    files = write_synthetic(asked.out, asked.rows, seed=asked.seed)
    print(f"{len(files)} files in {asked.out}")


if __name__ == "__main__":
    main()
