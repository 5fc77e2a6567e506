"""Runs as rows of a results dataset, and as records of other collections."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kcbench import __version__
from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.schema import validate
from kcbench.domain.timing import Stats, Timing
from kcbench.domain.verdict import Verdict
from kcbench.engine import Options, evaluate
from kcbench.errors import KcbenchError
from kcbench.hub.columns import RESULTS, SUBMISSIONS, columns
from kcbench.hub.eval_results import eval_results
from kcbench.hub.every_eval_ever import SCHEMA, every_eval_ever
from kcbench.hub.parquet import digest, read
from kcbench.hub.results import result_rows, run_digest, submission_rows, write_run
from kcbench.hub.scores import score_run
from kcbench.report.repro import build_script
from kcbench.report.store import RunFolder
from kcbench.suites.scored import scored_source
from kcbench.tasks import list_tasks, load_task
from tests.report.conftest import HEADER, SAMPLE, result

RUN: dict[str, Any] = {**HEADER, "kcbench_version": __version__}
MATMUL = {"task": "level1/matmul"}


def _run(path: Path, results: tuple[Result, ...] = SAMPLE, header: Mapping[str, Any] = RUN) -> Path:
    with RunFolder.create(path, header) as folder:
        for item in results:
            folder.append(item)
    return path


def test_every_row_says_how_it_came_about() -> None:
    rows = result_rows(SAMPLE, RUN)
    for row in rows:
        validate(row, RESULTS, source="row")
    assert list(rows[0]) == [column.name for column in columns(RESULTS)]
    for row in rows:
        assert (row["kcbench"], row["device"], row["sandbox"], row["seed"]) == (__version__, "cpu", "process", "7")
        assert (row["dataset"], row["dataset_version"], row["author"]) == ("kcbench", __version__, "someone")
        assert row["submission_digest"] == row["task_digest"] == "0" * 64
        assert row["run"] == run_digest(RUN)
    race = [row for row in rows if row["submission"] == "broken/race"]
    assert len(race) == 13
    assert {row["gate"]: row["code"] for row in race if row["gate_status"] == "FAIL"} == {
        "ORD-02": "ORD-02.nondeterministic",
        "CMP-03": "CMP-03.shape",
    }
    assert {row["gate"]: (row["silent_codes"], row["findings"]) for row in race if row["gate_status"] == "FAIL"} == {
        "ORD-02": (["ORD-02.nondeterministic"], 1),
        "CMP-03": (["CMP-03.shape"], 1),
    }
    (crash,) = (row for row in rows if row["submission"] == "broken/crash" and row["gate_status"] == "FAIL")
    assert (crash["silent"], crash["silent_codes"]) == (False, [])
    (lost,) = (row for row in rows if row["submission"] == "unloadable")
    assert (lost["gate"], lost["refused"], lost["reason"]) == (None, True, "SyntaxError: invalid syntax")


def test_files_hold_the_rows(tmp_path: Path) -> None:
    made = write_run(_run(tmp_path / "run"), tmp_path / "a")
    assert list(made.files) == [f"{place}/run-{made.run}-{made.digest}.parquet" for place in ("data", "submissions")]
    results, submissions = made.files.values()
    rows = read(results, RESULTS)
    assert rows == result_rows(SAMPLE, RUN)
    assert len(rows) == made.rows
    assert [row["submission"] for row in read(submissions, SUBMISSIONS)] == sorted(item.id for item in SAMPLE)
    again = write_run(_run(tmp_path / "again", tuple(reversed(SAMPLE))), tmp_path / "b")
    assert again.digest == made.digest, "the order in which they were scored says nothing"
    assert [digest(path) for path in again.files.values()] == [digest(path) for path in made.files.values()]


def test_a_run_without_results(tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match="the run has no results yet"):
        write_run(_run(tmp_path / "run", ()), tmp_path / "a")
    with pytest.raises(KcbenchError, match="is not a run folder"):
        write_run(tmp_path, tmp_path / "a")


def test_a_submission_row_holds_what_a_page_shows(tmp_path: Path) -> None:
    rows = {row["submission"]: row for row in submission_rows(SAMPLE, RUN)}
    for row in rows.values():
        validate(row, SUBMISSIONS, source="row")
        assert list(row) == [column.name for column in columns(SUBMISSIONS)]
        assert (row["run"], row["source"], row["timing"], row["cut"]) == (run_digest(RUN), None, None, [])
    race = next(item for item in SAMPLE if item.id == "broken/race")
    told = rows["broken/race"]
    assert tuple(Verdict.from_json(item) for item in json.loads(told["verdicts"])) == race.verdicts
    assert tuple(LegacyScore.from_json(item) for item in json.loads(told["legacy"])) == race.legacy
    assert json.loads(told["environment"]) == race.environment
    assert rows["unloadable"]["verdicts"] == "[]"


def test_a_submission_row_holds_the_timing() -> None:
    eager = Stats(4.0, 5.0, 0.5, 3.0, 6.0, 100)
    timing = Timing(2.0, 2.5, 0.1, 1.0, 3.0, 100, baselines={"eager": eager}, flags=("clock-mismatch",), detail={"drift": 1.0})
    [row] = submission_rows([result("a", timing=timing)], RUN)
    assert (row["speedup"], row["median_ms"], row["mean_ms"], row["eager_median_ms"], row["eager_mean_ms"]) == (2, 2, 2.5, 4, 5)
    assert (row["timing_flags"], row["timing_size"]) == (["clock-mismatch"], "full")
    assert Timing.from_json(json.loads(row["timing"])) == timing


def test_source_and_calls_of_a_run_that_is_at_hand(tmp_path: Path) -> None:
    """What a reproduction script needs is published, so that a page can show one without torch."""
    source = (
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.relu().nan_to_num()\n"
    )
    [scored] = [evaluate("level1/relu", source, options=Options(seed="7", device="cpu", gates=("EXC-01",), legacy=()))]
    file = tmp_path / "kernel.py"
    file.write_text(source)
    mine = replace(scored, submission={**scored.submission, "path": str(file)})
    header = {**RUN, "tasks": {"level1/relu": load_task("level1/relu").digest}}
    run = _run(tmp_path / "run", (mine,), header)
    [row] = read(list(write_run(run, tmp_path / "a").files.values())[1], SUBMISSIONS)
    assert (row["source"], row["cut"]) == (source, [])
    calls = json.loads(row["calls"])
    assert list(calls) == sorted(mine.codes)
    finding = mine.verdicts[-1].findings[0]
    text = build_script(
        source=source, entry="ModelNew", finding=finding, calls=calls["EXC-01.absorbed"], interpret=False, title="EXC-01"
    )
    shown = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "REPRODUCED" in shown.stdout

    file.write_text(source + "# changed\n")
    [row] = submission_rows([mine], header, source=lambda item: scored_source(item, header))
    assert (row["source"], row["cut"]) == (None, ["source: the submission has changed since the run"])


def test_long_texts_are_cut_and_said_to_be() -> None:
    long = result("long", "CMP-01.value", "CMP-01.zeros", status="scored")
    finding = replace(long.verdicts[1].findings[0], summary="x" * 10_000_000, evidence={"log": "y" * 10_000_000})
    verdicts = (
        long.verdicts[0],
        replace(long.verdicts[1], findings=(finding, *long.verdicts[1].findings[1:])),
        *long.verdicts[2:],
    )
    huge = replace(long, verdicts=verdicts, environment={"log": "z" * 100_000}, reason="r" * 100_000)
    [row] = submission_rows([huge], RUN, source=lambda _item: "s" * 1_000_000)
    validate(row, SUBMISSIONS, source="row")
    assert len(json.dumps(row)) < 20_000
    kept = [Verdict.from_json(item) for item in json.loads(row["verdicts"])]
    assert [item.codes for item in kept] == [item.codes for item in long.verdicts]
    assert row["source"] is None
    assert row["cut"] == [
        "source: left out, it has 1,000,000 characters",
        "verdicts: cut, it has 20,002,041 characters",
        "environment: cut, it has 100,011 characters",
    ]


@pytest.mark.parametrize(
    ("tasks", "dataset", "version"),
    [
        (f"hf://someone/kernels@{'a' * 40}", "someone/kernels", "a" * 40),
        ("hf://someone/kernels@1.2.0", "someone/kernels", "1.2.0"),
        (
            "/home/me/secret/tasks",
            "local",
            hashlib.sha256(f'{{"level1/softmax": "{"0" * 64}"}}'.encode()).hexdigest(),
        ),
    ],
)
def test_tasks_from_elsewhere(tasks: str, dataset: str, version: str) -> None:
    rows = result_rows(SAMPLE[:1], {**RUN, "options": {"tasks": tasks}})
    assert {(row["dataset"], row["dataset_version"]) for row in rows} == {(dataset, version)}
    assert "secret" not in json.dumps(rows), "nobody else can use a path of this machine"


def test_a_score_counts_all_tasks() -> None:
    mine = (
        result("a"),
        result("b", "EXC-01.absorbed", v1=True),
        result("c", facts=MATMUL),
        result("d", v0=None, status="error", facts=MATMUL),
        result("e", facts={"task": "level4/gated_delta_rule"}, labels=("triton",)),
        result("f", facts={"task": "mine/problem"}),
    )
    scores = score_run(mine, RUN)
    known = list_tasks()
    by = {(score.config, score.check): score for score in scores.scores}
    assert list(dict.fromkeys(config for config, _ in by)) == ["all", "level_1", "level_4"]
    level = by["level_1", "contract"]
    in_level = [task for task in known if task.startswith("level1/")]
    assert level.tasks == tuple(in_level)
    assert level.value == pytest.approx((0.5 + 0.5) / len(in_level))
    assert level.attempted == 2
    assert by["all", "contract"].value == pytest.approx(2 / len(known))
    assert by["level_1", "kernelbench-v0"].value == pytest.approx((1 + 0.5) / len(in_level))
    assert (scores.submissions, scores.unjudged, scores.interpreted, scores.author) == (5, 1, 4, "someone")


def test_standard_error_is_that_of_the_mean() -> None:
    (score,) = (s for s in score_run((result("a"),), RUN).scores if s.config == "level_1" and s.check == "contract")
    n = len(score.tasks)
    assert score.standard_error == pytest.approx((1 / n * (1 - 1 / n) / (n - 1)) ** 0.5)


def test_what_has_no_score() -> None:
    two = (result("a"), result("b", facts={"author": "another"}))
    with pytest.raises(KcbenchError, match=r"several authors \(name one with --author: another, someone\)"):
        score_run(two, RUN)
    assert score_run(two, RUN, author="another").submissions == 1
    with pytest.raises(KcbenchError, match="no submission by nobody"):
        score_run(two, RUN, author="nobody")
    with pytest.raises(KcbenchError, match="no submission of the run is for one of the published tasks"):
        score_run((result("a", facts={"task": "mine/problem"}),), RUN)
    with pytest.raises(KcbenchError, match="some of the gates only"):
        score_run(two, {**RUN, "options": {"gates": ["CMP-01"]}})
    with pytest.raises(KcbenchError, match=r"made with the tasks of kcbench 0\.0\.9"):
        score_run(two, {**RUN, "kcbench_version": "0.0.9"})


def test_eval_results_are_what_the_hubs_client_reads() -> None:
    from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries

    scores = score_run((result("a"), result("b", "EXC-01.absorbed")), RUN)
    data = eval_results(scores, repo="someone/kernels", source="https://example.org/run")
    entries = parse_eval_result_entries(data)
    assert eval_result_entries_to_yaml(entries) == data
    whole, level = entries
    assert (whole.dataset_id, whole.task_id, level.task_id) == ("someone/kernels", "all", "level_1")
    assert level.value == round(50 / sum(task.startswith("level1/") for task in list_tasks()), 2)
    assert (level.date, level.source_url) == (RUN["created"], "https://example.org/run")
    assert "device cpu; sandbox process; 2 submissions interpreted" in str(level.notes)
    with pytest.raises(KcbenchError, match="--repo: the dataset is not known"):
        eval_results(scores)


def test_every_eval_ever_record_follows_its_schema() -> None:
    schema = json.loads((Path(__file__).parent / "data" / f"every_eval_ever-{SCHEMA}.schema.json").read_text("utf-8"))
    scores = score_run((result("a"), result("b", "EXC-01.absorbed")), RUN)
    for repo in ("", "someone/kernels"):
        record = every_eval_ever(scores, model="maker/model", repo=repo, now=1_800_000_000)
        jsonschema.Draft7Validator(schema).validate(record)
        assert record["schema_version"] == schema["version"]
        assert record["evaluation_id"] == "kcbench/maker/model/1800000000"
        assert record["evaluation_timestamp"] == "1767323045"
        first = record["evaluation_results"][0]
        assert first["evaluation_result_id"] == "all/contract"
        assert first["score_details"]["score"] == pytest.approx(0.5 / len(list_tasks()))
        assert first["source_data"].get("hf_repo", "") == repo
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema).validate({**record, "evaluation_results": [{"evaluation_name": "x"}]})
    nobody = score_run((result("a", facts={"author": ""}),), RUN)
    with pytest.raises(KcbenchError, match="--model: the submissions name no author"):
        every_eval_ever(nobody)
