"""``kcbench eval`` on KernelBench's layouts: what is inferred, what is scored, what is written, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

from kcbench.cli import inference
from kcbench.domain.schema import load_json
from kcbench.tasks import load_task
from tests.cli.suite_stand_ins import KERNEL, PROBLEM, SUITE, Engine, Inference, kernel, put


def test_a_run_folder(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    outcome = run(*SUITE, "--out", "out", "--json", "out.json", "--jobs", "1")
    assert outcome.code == 0, outcome.err
    assert infer.asked == ["level1/19_ReLU", "level1/20_Other"], "only what some kernel needs"
    assert outcome.err.splitlines()[0].startswith("[1/2] contract of level1/19_ReLU: inferred ")
    data = load_json(Path("out.json"), "report")
    assert [(item["submission"]["id"][6:], item["status"]) for item in data["results"]] == [
        ("1_problem_19_sample_0_kernel", "scored"),
        ("1_problem_19_sample_1_kernel", "scored"),
        ("1_problem_20_sample_0_kernel", "scored"),
        ("1_problem_300_sample_0_kernel", "unloadable"),
    ]
    assert data["results"][1]["submission"]["origin"] == {"suite": "kernelbench", "level": 1, "problem_id": 19, "sample_id": 1}
    assert data["run"]["tasks"].keys() == {"level1/19_ReLU", "level1/20_Other"}
    options = data["run"]["options"]
    assert (options["suite"], options["suite_dir"], options["suite_sizes"], options["timing"]) == (
        "kernelbench",
        "kb",
        {"1": 3, "2": 1},
        [],
    )

    legacy, honest = (json.loads(Path("out", name).read_text()) for name in ("eval_results.json", "eval_results_honest.json"))
    assert {name: [item["correctness"] for item in items] for name, items in legacy.items()} == {
        "19": [True, True],
        "20": [False],
    }
    assert {name: [item["correctness"] for item in items] for name, items in honest.items()} == {
        "19": [True, False],
        "20": [False],
    }
    assert json.loads(Path("out/pass_at_k_results.json").read_text())["averages"] == {"avg_pass@1": 0.5, "avg_pass@2": 1.0}
    assert not list(Path("out").glob("baseline*")), "nothing was timed"
    assert "1     legacy  –         1 of 2 0.500" in outcome.out
    assert "Level 1: the suite has 3 problems, and 2 of them a sample 0." in " ".join(outcome.out.replace("│", " ").split())
    table = polars.read_parquet("out/results.parquet").unique("submission").sort("submission")
    assert table["sample_id"].to_list() == [0, 1, 0, None]
    for name in ("19_ReLU", "20_Other"):
        assert Path(f"out/problems/level1/{name}.py").read_text() == Path(f"kb/KernelBench/level1/{name}.py").read_text()


def test_a_run_folder_without_a_checkout_is_scored_on_the_tasks(
    infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]
) -> None:
    outcome = run("eval", "run", "--suite", "kernelbench", "--device", "cpu", "--out", "out", "--json", "out.json")
    assert outcome.code == 0, outcome.err
    assert infer.asked == [], "their contracts were written by hand"
    data = load_json(Path("out.json"), "report")
    tasks = [item["submission"]["task"] for item in data["results"]]
    assert [load_task(task).contract.kernelbench for task in tasks if task] == [(1, 19), (1, 19), (1, 20)]
    assert data["results"][3]["reason"] == "level 1 of the suite has no problem 300"
    assert data["run"]["options"]["suite_sizes"] == {"1": 100, "2": 100, "3": 50}
    assert json.loads(Path("out/eval_results.json").read_text()).keys() == {"19", "20"}


def test_the_report_can_be_made_again(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    assert run(*SUITE, "--out", "out").code == 0
    before = Path("out/eval_results.json").read_bytes()
    Path("out/eval_results.json").unlink()
    outcome = run("report", "out")
    assert outcome.code == 0 and "fast_p" in outcome.out
    assert Path("out/eval_results.json").read_bytes() == before


def test_a_problem_that_cannot_be_used_skips_its_kernels(
    infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]
) -> None:
    put("kb/KernelBench/level1/20_Other.py", f"{PROBLEM}# unusable\n")
    put("kb/KernelBench/level1/21_Third.py", "def")
    put(kernel(1, 21), KERNEL)
    outcome = run(*SUITE, "--out", "out", "--json", "out.json", "--strict")
    assert outcome.code == 1, "the kernel for a problem that does not exist is refused; --strict tells"
    data = {item["submission"]["id"][8:-7]: item for item in load_json(Path("out.json"), "report")["results"]}
    said = {name: (item["status"], item["reason"]) for name, item in data.items() if item["status"] == "skipped"}
    assert said == {
        "problem_20_sample_0": ("skipped", "get_inputs fails: ValueError: no"),
        "problem_21_sample_0": ("skipped", "the problem cannot be used: syntax error in line 1: invalid syntax"),
    }
    assert "level1/21_Third" not in infer.asked, "what cannot be parsed is not run"
    assert not {"level_1_problem_20_sample_0_kernel", "level_1_problem_21_sample_0_kernel"} & set(engine.scored)
    metadata = json.loads(Path("out/eval_results.json").read_text())["20"][0]["metadata"]
    assert metadata["error"] == "get_inputs fails: ValueError: no"


def test_a_fault_of_kcbench_is_told_apart_and_tried_again(
    infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]
) -> None:
    put("kb/KernelBench/level1/20_Other.py", f"{PROBLEM}# faulty\n")
    outcome = run(*SUITE, "--out", "out", "--json", "out.json")
    assert outcome.code == 3
    data = load_json(Path("out.json"), "report")["results"]
    assert [(item["status"], item["reason"]) for item in data if item["status"] == "error"] == [
        ("error", "the contract could not be inferred: ZeroDivisionError: division by zero")
    ]
    put("kb/KernelBench/level1/20_Other.py", f"{PROBLEM}# 20\n")
    assert run(*SUITE, "--out", "out", "--resume").code == 0
    assert json.loads(Path("out/eval_results.json").read_text())["20"][0]["compiled"] is True


def test_an_interrupt_while_contracts_are_inferred(
    infer: Inference, engine: Engine, place: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_code: str, name: str) -> inference.Answer:
        if name.endswith("Other"):
            raise KeyboardInterrupt
        return load_task("level1/relu"), "", "", 0.0

    monkeypatch.setattr(inference, "infer_one", stop)
    outcome = run(*SUITE, "--out", "out", "--jobs", "1")
    assert (outcome.code, engine.scored, Path("out").exists()) == (130, [], False)
    assert outcome.err.endswith("interrupted: 1 of 2 contracts were inferred, and are kept; go on with the same command\n")


def test_no_problem_can_be_used(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    for name in ("19_ReLU", "20_Other"):
        put(f"kb/KernelBench/level1/{name}.py", f"{PROBLEM}# unusable\n")
    outcome = run(*SUITE, "--out", "out")
    assert (outcome.code, engine.scored) == (2, [])
    assert outcome.err.splitlines()[-1] == (
        "error: level1/19_ReLU: get_inputs fails: ValueError: no (none of 2 problems can be used)"
    )
    assert not Path("out").exists()


def test_only_kcbench_failed(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    for name in ("19_ReLU", "20_Other"):
        put(f"kb/KernelBench/level1/{name}.py", f"{PROBLEM}# faulty\n")
    outcome = run(*SUITE, "--out", "out")
    assert outcome.code == 3
    assert "level1/19_ReLU: the contract could not be inferred: ZeroDivisionError" in outcome.err


def test_several_levels(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    put(kernel(2, 1), KERNEL)
    assert run(*SUITE, "--out", "out").code == 0
    assert sorted(path.as_posix() for path in Path("out").glob("**/eval_results.json")) == [
        "out/level_1/eval_results.json",
        "out/level_2/eval_results.json",
    ]


def test_a_mapping(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    put("flat/a.py", KERNEL)
    put("flat/b.py", KERNEL.replace("ModelNew", "Model"))
    put("map.csv", "file,level,problem_id,sample_id\na.py,1,19,0\nb.py,1,19,1\n")
    outcome = run(
        "eval",
        "flat",
        "--suite",
        "kernelbench",
        "--suite-dir",
        "kb",
        "--mapping",
        "map.csv",
        "--device",
        "cpu",
        "--out",
        "out",
        "--json",
        "out.json",
    )
    assert outcome.code == 0, outcome.err
    found = [item["submission"] for item in load_json(Path("out.json"), "report")["results"]]
    assert [(item["id"], item["task"], item["entry"], item["origin"]["sample_id"]) for item in found] == [
        ("a", "level1/19_ReLU", "ModelNew", 0),
        ("b", "level1/19_ReLU", "Model", 1),
    ]


def test_rows(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    rows = [
        {"ref_code": PROBLEM, "custom_code": text, "level_id": 1, "task_id": 7} for text in (KERNEL, f"{KERNEL}# refused\n", None)
    ]
    put("rows.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    fields = ("--ref-field", "ref_code", "--code-field", "custom_code", "--level-field", "level_id", "--problem-field", "task_id")
    outcome = run(
        "eval", "rows.jsonl", "--suite", "kernelbench", *fields, "--device", "cpu", "--out", "out", "--json", "out.json"
    )
    assert outcome.code == 0, outcome.err
    assert infer.asked == ["level1/7"]
    found = json.loads(Path("out/eval_results.json").read_text())["7"]
    assert [(item["sample_id"], item["compiled"], item["correctness"]) for item in found] == [
        (0, True, True),
        (1, True, True),
        (2, False, False),
    ]
    assert [item["submission"]["path"] for item in load_json(Path("out.json"), "report")["results"]] == [
        f"rows.jsonl:{number}" for number in (1, 2, 3)
    ]


def test_one_problem(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    put("my problem.py", PROBLEM)
    put("kernel.py", KERNEL)
    put("copy.py", PROBLEM)
    outcome = run(
        "eval", "kernel.py", "copy.py", "--problem", "my problem.py", "--device", "cpu", "--out", "out", "--json", "out.json"
    )
    assert outcome.code == 0, outcome.err
    data = load_json(Path("out.json"), "report")
    assert [(item["submission"]["id"], item["submission"]["task"], item["status"]) for item in data["results"]] == [
        ("copy", "problem/my_problem", "unloadable"),
        ("kernel", "problem/my_problem", "scored"),
    ]
    assert data["results"][0]["reason"] == "no class ModelNew, and nothing but what the problem itself defines"
    assert data["results"][1]["submission"]["origin"] == {}
    assert not Path("out/eval_results.json").exists() and "fast_p" not in outcome.out


# --- Timing


def test_baselines_reach_the_engine(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    for number, (given, expected) in enumerate((("compile, EAGER", ("eager", "compile")), ("none", ()), (None, ()))):
        more = () if given is None else ("--timing", given)
        assert run(*SUITE, "--out", f"out{number}", *more).code == 0
        assert engine.options[-1].timing == expected
        assert load_json(Path(f"out{number}/run.json"), "run")["options"]["timing"] == list(expected)


def test_a_gpu_is_timed_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    from kcbench.cli.scoring import make_options

    monkeypatch.setattr("kcbench.engine.resolve_device", lambda _wanted: "cuda")
    assert make_options(seed="1", device="cuda", jobs=1, timing=None).timing == ("eager",)
    assert make_options(seed="1", device="cuda", jobs=1, timing="none").timing == ()
    assert make_options(seed="1", device="cuda", jobs=1).timing == (), "the red team is not timed"


# --- Bad input


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "--suite-dir", "kb"], "--suite-dir: is for runs of a suite (add --suite kernelbench)"),
        (["run", "--mapping", "m.json"], "--mapping: is for runs of a suite"),
        (["run", "--ref-field", "x"], "--ref-field: is for runs of a suite"),
        (
            ["run", "--suite", "kernelbench", "--suite-dir", "kb", "--task", "level1/relu"],
            "--task, --suite: only one of them can say",
        ),
        (["run", "--problem", "p.py", "--task", "level1/relu"], "--task, --problem: only one of them can say"),
        (["run", "run", "--suite", "kernelbench", "--suite-dir", "kb"], "expected one folder or file of kernels, found 2"),
        (["run", "--suite", "kernelbench", "--ref-field", "x"], "--ref-field: rows need both --ref-field and --code-field"),
        (["run", "--suite", "kernelbench", "--level-field", "x"], "--level-field: rows need both --ref-field and --code-field"),
        (
            ["run", "--suite", "kernelbench", "--suite-dir", "kb", "--code-field", "x"],
            "--suite-dir, --code-field: rows bring their own problems",
        ),
        (["nowhere", "--suite", "kernelbench", "--suite-dir", "kb"], "nowhere: no such folder"),
        (["run", "--suite", "kernelbench", "--suite-dir", "nowhere"], "nowhere: no such folder (name a checkout of KernelBench)"),
        (["run", "--suite", "kernelbench", "--suite-dir", "run"], "run: holds no folder level1, level2, ..."),
        (["run", "--suite", "kernelbench", "--suite-dir", "kb", "--mapping", "none.json"], "none.json: cannot be read"),
        (["none.jsonl", "--suite", "kernelbench", "--ref-field", "a", "--code-field", "b"], "none.jsonl: cannot be read"),
        (["run", "--problem", "none.py"], "none.py: the problem cannot be used: cannot be read: No such file or directory"),
        (["run", "--problem", "run/level_1_problem_19_sample_0_kernel.py"], "it defines no Model and no get_inputs"),
        (
            ["run", "--suite", "kernelbench", "--suite-dir", "kb", "--timing", "egaer"],
            "--timing: unknown name 'egaer' (did you mean eager?)",
        ),
        (
            ["run", "--suite", "kernelbench", "--suite-dir", "kb", "--out", "run"],
            "run: is the folder of the kernels (choose another folder",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input(
    arguments: list[str], expected: str, infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]
) -> None:
    outcome = run("eval", *arguments, "--device", "cpu")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1 and outcome.err.startswith("error: ")
    assert expected in outcome.err


def test_nothing_in_the_run_can_be_scored(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    put("bad/level_1_problem_19_sample_0_kernel.py", "def")
    put("bad/level_1_problem_20_sample_0_kernel.py", "")
    outcome = run("eval", "bad", "--suite", "kernelbench", "--suite-dir", "kb", "--device", "cpu")
    assert outcome.code == 2 and infer.asked == []
    assert "none of 2 submissions can be scored; this is the first" in outcome.err


# --- The real thing


@pytest.mark.slow
def test_with_real_processes_and_the_real_engine(
    place: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Inference in processes of its own, one gate, a refusal that is reproduced: the parts fit together."""
    monkeypatch.setenv("KCBENCH_CACHE", str(tmp_path / "cache"))
    put(kernel(1, 19, 1), KERNEL.replace("relu(x)", "relu(x.abs())"))
    put("kb/KernelBench/level1/20_Other.py", f"{PROBLEM}\nimport os\nos._exit(1)\n")
    outcome = run(*SUITE, "--out", "out", "--gates", "CMP-01", "--legacy", "kernelbench-v1", "--jobs", "2", "--seed", "3")
    assert outcome.code == 0, outcome.err
    assert "level1/20_Other: the process that ran the problem died" in outcome.err
    honest = json.loads(Path("out/eval_results_honest.json").read_text())
    assert {name: [item["correctness"] for item in items] for name, items in honest.items()} == {
        "19": [True, False],
        "20": [False],
    }
    assert json.loads(Path("out/eval_results.json").read_text())["19"][1]["correctness"] is True, (
        "all inputs of KernelBench are positive"
    )
    outcome = run("repro", "out", "level_1_problem_19_sample_1_kernel", "CMP-01")
    assert outcome.code == 0, outcome.err
