"""Runs as rows of a results dataset, and as records of other collections."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kcbench import __version__
from kcbench.domain.result import Result
from kcbench.domain.schema import validate
from kcbench.errors import KcbenchError
from kcbench.hub.columns import RESULTS, columns
from kcbench.hub.eval_results import eval_results
from kcbench.hub.every_eval_ever import SCHEMA, every_eval_ever
from kcbench.hub.parquet import digest, read
from kcbench.hub.results import result_rows, run_digest, write_results
from kcbench.hub.scores import score_run
from kcbench.report.store import RunFolder
from kcbench.tasks import list_tasks
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
    (lost,) = (row for row in rows if row["submission"] == "unloadable")
    assert (lost["gate"], lost["refused"], lost["reason"]) == (None, True, "SyntaxError: invalid syntax")


def test_file_holds_the_rows(tmp_path: Path) -> None:
    written = write_results(_run(tmp_path / "run"), tmp_path / "a.parquet")
    rows = read(tmp_path / "a.parquet", RESULTS)
    assert rows == result_rows(SAMPLE, RUN)
    assert len(rows) == written
    write_results(_run(tmp_path / "again", tuple(reversed(SAMPLE))), tmp_path / "b.parquet")
    assert digest(tmp_path / "a.parquet") == digest(tmp_path / "b.parquet"), "the order in which they were scored says nothing"


def test_a_run_without_results(tmp_path: Path) -> None:
    with pytest.raises(KcbenchError, match="the run has no results yet"):
        write_results(_run(tmp_path / "run", ()), tmp_path / "a.parquet")
    with pytest.raises(KcbenchError, match="is not a run folder"):
        write_results(tmp_path, tmp_path / "a.parquet")


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
