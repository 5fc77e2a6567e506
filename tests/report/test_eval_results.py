"""The files that KernelBench's scripts read, against their documented shape; and fast_p in every report."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from kcbench.cli.reporting import write_reports
from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.schema import validate
from kcbench.report import eval_results, html, markdown
from kcbench.report.journal import decode, encode, plain
from kcbench.report.store import RunFolder
from kcbench.report.table import print_report
from tests.report.suite_runs import HEADER, kernel, timing

NUMBER = {"type": "number"}
PLACE = {"hardware": {"type": "string", "minLength": 1}, "device": {"enum": ["cuda:0", "cpu"]}}
STATS = {
    "type": "object",
    "required": ["mean", "std", "min", "max", "num_trials", "hardware", "device"],
    "additionalProperties": False,
    "properties": {
        **dict.fromkeys(("mean", "std", "min", "max"), NUMBER),
        "num_trials": {"type": "integer", "minimum": 0},
        **PLACE,
    },
}
TEXT = {"type": "string"}
SAMPLE = {
    "type": "object",
    "required": ["sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats"],
    "additionalProperties": False,
    "properties": {
        "sample_id": {"type": "integer", "minimum": 0},
        "compiled": {"type": "boolean"},
        "correctness": {"type": "boolean"},
        "metadata": {
            "type": "object",
            "required": ["hardware", "device", "kcbench"],
            "additionalProperties": False,
            "properties": {
                **PLACE,
                "correctness_trials": {"type": "string", "pattern": r"^\(\d+ / \d+\)$"},
                "max_difference": {"type": "array", "items": {"type": "string", "pattern": r"^(\d+\.\d{6}|inf|nan)$"}},
                **dict.fromkeys(("correctness_issue", "runtime_error", "runtime_error_name", "compilation_error"), TEXT),
                **dict.fromkeys(("compilation_error_name", "error", "error_name", "error_during_performance"), TEXT),
                "excessive_speedup": {"const": True},
                "kcbench": {"type": "object"},
            },
        },
        "runtime": NUMBER,
        "runtime_stats": {"anyOf": [{"const": {}}, STATS]},
    },
    # As in KernelBench: only what compiled is correct, and -1 stands for no time.
    "allOf": [
        {"if": {"properties": {"compiled": {"const": False}}}, "then": {"properties": {"correctness": {"const": False}}}},
        {"if": {"properties": {"runtime_stats": {"const": {}}}}, "then": {"properties": {"runtime": {"const": -1.0}}}},
    ],
}
RESULTS = {
    "type": "object",
    "propertyNames": {"pattern": "^\\d+$"},
    "additionalProperties": {"type": "array", "minItems": 1, "items": SAMPLE},
}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
PASS_AT_K = {
    "type": "object",
    "required": ["averages", "metadata", "problems"],
    "additionalProperties": False,
    "properties": {
        "averages": {"type": "object", "propertyNames": {"pattern": r"^avg_pass@\d+$"}, "additionalProperties": SHARE},
        "metadata": {
            "type": "object",
            "required": ["total_problems", "problems_with_samples", "total_evaluated_samples", "total_correct_samples"],
            "additionalProperties": {"type": "integer", "minimum": 0},
        },
        "problems": {
            "type": "object",
            "propertyNames": {"pattern": "^\\d+$"},
            "additionalProperties": {
                "type": "object",
                "required": ["total_samples", "correct_samples", "pass@1"],
                "patternProperties": {r"^pass@\d+$": SHARE},
            },
        },
    },
}
BASELINE = {
    "type": "object",
    "propertyNames": {"pattern": r"^(level\d+|no_level)$"},
    "additionalProperties": {"type": "object", "propertyNames": {"pattern": r"\.py$"}, "additionalProperties": STATS},
}

RUN = (
    kernel(10, time=timing(1.0, "excessive-speedup", eager=20.0)),
    kernel(2, clean=False, time=timing(1.5, eager=3.0)),
    kernel(2, 1, legacy=False),
    kernel(3, legacy=None, status="unloadable", reason="the import failed: ImportError: no module"),
    kernel(4, legacy=None, status="unloadable", reason="syntax error in line 1: invalid syntax"),
    kernel(5, legacy=None, status="skipped", reason="the problem cannot be used"),
    kernel(6, untimed="out of memory"),
    kernel(7, None),
)


def files(*results: Result, **header: Any) -> dict[str, Any]:
    return json.loads(json.dumps(plain(eval_results.files(results, {**HEADER, **header})), allow_nan=False))


def check(found: dict[str, Any]) -> None:
    for name, data in found.items():
        base = name.rpartition("/")[2]
        schema = RESULTS if base.startswith("eval") else PASS_AT_K if base.startswith("pass") else BASELINE
        jsonschema.Draft202012Validator(schema).validate(data)


def test_the_shapes() -> None:
    found = files(*RUN)
    assert set(found) == {
        "eval_results.json",
        "eval_results_honest.json",
        "pass_at_k_results.json",
        "pass_at_k_results_honest.json",
        "baseline_time_eager.json",
    }
    check(found)


def test_the_results_by_hand() -> None:
    found = files(*RUN)
    legacy, honest = found["eval_results.json"], found["eval_results_honest.json"]
    assert list(legacy) == ["2", "3", "4", "5", "6", "10"], "by number, as KernelBench sorts them"
    assert legacy["10"][0] == {
        "sample_id": 0,
        "compiled": True,
        "correctness": True,
        "metadata": {
            "hardware": "a GPU",
            "device": "cuda:0",
            "correctness_trials": "(5 / 5)",
            "excessive_speedup": True,
            "kcbench": {
                "submission": "level_1_problem_10_sample_0_kernel",
                "verdict": "clean",
                "codes": [],
                "legacy_size": "full",
                "timing_flags": ["excessive-speedup"],
            },
        },
        "runtime": 1.0,
        "runtime_stats": {
            "mean": 1.0,
            "std": 0.125,
            "min": 0.5,
            "max": 2.0,
            "num_trials": 100,
            "hardware": "a GPU",
            "device": "cuda:0",
        },
    }
    assert [(item["sample_id"], item["correctness"]) for item in legacy["2"]] == [(0, True), (1, False)]
    assert [(item["sample_id"], item["correctness"]) for item in honest["2"]] == [(0, False), (1, True)]
    assert honest["2"][0]["metadata"]["correctness_issue"] == "EXC-01.absorbed"
    wrong = legacy["2"][1]["metadata"]
    assert (wrong["correctness_issue"], wrong["max_difference"], wrong["correctness_trials"]) == (
        "output mismatch",
        ["0.500000", "2.000000"],
        "(0 / 5)",
    )
    for both in (legacy, honest):
        assert [both[name][0]["compiled"] for name in ("3", "4", "5", "6")] == [False, False, False, True]
        assert both["3"][0]["metadata"]["compilation_error_name"] == "ImportError"
        assert both["4"][0]["metadata"]["compilation_error_name"] == "SyntaxError"
        assert both["5"][0]["metadata"]["error"] == "the problem cannot be used"
        assert (both["6"][0]["runtime"], both["6"][0]["runtime_stats"]) == (-1.0, {})
        assert both["6"][0]["metadata"]["error_during_performance"] == "out of memory"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (
            "runtime error: ValueError: x is\x1bodd",
            {"runtime_error": "ValueError: x is\\x1bodd", "runtime_error_name": "ValueError"},
        ),
        ("output shape mismatch: expected [1], got [2]", {"correctness_issue": "output shape mismatch: expected [1], got [2]"}),
    ],
)
def test_reasons_use_kernelbench_s_keys(reason: str, expected: dict[str, str]) -> None:
    score = LegacyScore("kernelbench-v1", True, False, "(0 / 5)", (float("nan"), float("inf")), reason)
    made = kernel(1)
    result = Result(made.key, made.submission, "scored", legacy=(score,), verdicts=made.verdicts)
    checked = files(result)
    check(checked)
    metadata = checked["eval_results.json"]["1"][0]["metadata"]
    assert expected.items() <= metadata.items()


def test_pass_at_k_by_hand() -> None:
    found = files(*RUN)["pass_at_k_results.json"]
    assert found["problems"]["2"] == {"total_samples": 2, "correct_samples": 1, "pass@1": 0.5, "pass@2": 1.0}
    assert found["problems"]["3"] == {"total_samples": 1, "correct_samples": 0, "pass@1": 0.0}
    assert found["averages"] == {"avg_pass@1": pytest.approx((1 + 0.5 + 0 + 0 + 0 + 1) / 6), "avg_pass@2": 1.0}
    assert found["metadata"] == {
        "total_problems": 6,
        "problems_with_samples": 6,
        "total_evaluated_samples": 7,
        "total_correct_samples": 3,
        "pass@1_count": 6,
        "pass@2_count": 1,
    }


def test_baselines_by_hand() -> None:
    found = files(*RUN)["baseline_time_eager.json"]["level1"]
    assert {name: (item["mean"], item["num_trials"]) for name, item in found.items()} == {
        "2_Name_.py": (3.0, 100),
        "3_Name_.py": (0.0, 0),
        "4_Name_.py": (0.0, 0),
        "5_Name_.py": (0.0, 0),
        "6_Name_.py": (0.0, 0),
        "10_Name_.py": (20.0, 100),
    }


def test_a_baseline_of_sample_0_wins_and_any_other_is_better_than_none() -> None:
    first, second = kernel(1, 0, time=timing(1.0, eager=2.0)), kernel(1, 1, time=timing(1.0, eager=5.0))
    assert files(second, first)["baseline_time_eager.json"]["level1"]["1_Name_.py"]["mean"] == 2.0
    untimed = kernel(1, 0)
    assert files(second, untimed)["baseline_time_eager.json"]["level1"]["1_Name_.py"]["mean"] == 5.0


def test_without_times_there_is_no_baseline() -> None:
    found = files(kernel(1))
    check(found)
    assert not [name for name in found if name.startswith("baseline")]


def test_each_level_has_a_folder_where_there_are_several() -> None:
    found = files(kernel(1, time=timing(1.0, eager=2.0)), kernel(1, level=2, time=timing(1.0, eager=2.0)), kernel(1, level=None))
    check(found)
    assert {name for name in found if name.endswith("eval_results.json")} == {
        "level_1/eval_results.json",
        "level_2/eval_results.json",
        "no_level/eval_results.json",
    }
    assert list(found["baseline_time_eager.json"]) == ["no_level", "level1", "level2"]


def test_without_the_legacy_check_only_the_honest_files_are_written() -> None:
    assert set(files(kernel(1, legacy=None), legacy=[])) == {"eval_results_honest.json", "pass_at_k_results_honest.json"}


def test_a_run_over_no_suite_writes_none() -> None:
    made = kernel(1)
    assert files(Result(made.key, {**made.submission, "origin": {}}, "scored")) == {}


# --- In the run folder and the reports


def test_the_run_folder(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, HEADER) as folder:
        folder.append(RUN[0])
        write_reports(folder)
        assert json.loads((tmp_path / "eval_results.json").read_text()) == files(RUN[0])["eval_results.json"]
        folder.append(kernel(1, level=3))
        write_reports(folder)
    # What was written for one level would now be a part that looks like the whole.
    assert not (tmp_path / "eval_results.json").exists()
    assert json.loads((tmp_path / "level_3" / "eval_results.json").read_text())["1"][0]["correctness"] is True


def test_origins_survive_the_journal_and_reach_the_table() -> None:
    from kcbench.report.parquet import frame

    results = [decode(encode(result)) for result in RUN]
    assert [result.submission["origin"] for result in results] == [result.submission["origin"] for result in RUN]
    for result in results:
        validate(plain(result.to_json()), "result", source=result.id)
    table = frame(results, HEADER)
    assert {name: str(table.schema[name]) for name in ("level", "problem_id", "sample_id")} == dict.fromkeys(
        ("level", "problem_id", "sample_id"), "Int64"
    )
    assert table["problem_id"].to_list() == [10, 2, 2, 3, 4, 5, 6, 7]
    assert table["sample_id"].to_list() == [0, 0, 1, 0, 0, 0, 0, None]
    made = RUN[0]
    before = Result(made.key, {name: value for name, value in made.submission.items() if name != "origin"}, "scored")
    assert frame([before], HEADER)["level"].to_list() == [None]


@pytest.mark.parametrize("width", [80, 120])
def test_reports_show_fast_p(width: int) -> None:
    console = Console(file=StringIO(), width=width, force_terminal=False)
    print_report(console, RUN, HEADER)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "╭─ fast_p" in shown
    row = next(line for line in shown.splitlines() if "legacy" in line and "3 of 6" in line)
    assert " ".join(row.strip("│ ").split()) == "1 legacy eager 3 of 6 0.500 0.333 0.333 0.333 0.333 0.167 6.32"
    for text in (markdown.render(RUN, HEADER), html.render(RUN, HEADER)):
        assert text.count("fast") > 6 and "0.333" in text
        assert "Its denominator is every submission with sample id 0 of the level" in text
    assert "| 1 | legacy | eager | 3 of 6 | 0.500 | 0.333 |" in markdown.render(RUN, HEADER)
    assert '<td class="number">0.500</td>' in html.render(RUN, HEADER)


def test_reports_of_other_runs_do_not() -> None:
    made = kernel(1)
    other = [Result(made.key, {**made.submission, "origin": {}}, "scored", legacy=made.legacy)]
    assert "fast_p" not in markdown.render(other, HEADER) and "fast_p" not in html.render(other, HEADER)
