"""Going on with a run on KernelBench's layouts: by sample and content."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kcbench.cli.progress import brief
from kcbench.domain.result import Result
from kcbench.domain.submission import Submission
from kcbench.engine import Options
from kcbench.tasks import load_task
from tests.cli.suite_stand_ins import KERNEL, SUITE, Engine, Inference, kernel, put


def test_resume_is_by_sample_and_content(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    assert run(*SUITE, "--out", "out").code == 0
    before = list(engine.scored)
    assert before.count("level_1_problem_19_sample_1_kernel") == 1
    engine.scored.clear()
    # Upstream looks for the problem's id only, and would score none of these.
    put(kernel(1, 19, 2), KERNEL)
    put(kernel(1, 20), f"{KERNEL}# repaired\n")
    assert run(*SUITE, "--out", "out", "--resume").code == 0
    scored = [name for name in engine.scored if "300" not in name]
    assert scored == ["level_1_problem_19_sample_2_kernel", "level_1_problem_20_sample_0_kernel"]
    found = json.loads(Path("out/eval_results.json").read_text())
    assert [(item["sample_id"], item["correctness"]) for item in found["19"]] == [(0, True), (1, True), (2, True)]
    assert [item["correctness"] for item in found["20"]] == [True], "the repaired kernel's result, not the old one's"


def test_equal_text_in_another_sample_is_scored_again(
    infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]
) -> None:
    put(kernel(1, 19, 1), KERNEL)
    assert run(*SUITE, "--out", "out").code == 0
    assert {"level_1_problem_19_sample_0_kernel", "level_1_problem_19_sample_1_kernel"} <= set(engine.scored)


def test_a_file_that_becomes_another_sample_is_scored_again(
    infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]
) -> None:
    put("flat/a.py", KERNEL)
    command = (
        "eval",
        "flat",
        "--suite",
        "kernelbench",
        "--suite-dir",
        "kb",
        "--mapping",
        "map.json",
        "--device",
        "cpu",
        "--out",
        "out",
    )
    put("map.json", '{"a.py": {"level": 1, "problem_id": 19, "sample_id": 0}}')
    assert run(*command).code == 0
    put("map.json", '{"a.py": {"level": 1, "problem_id": 19, "sample_id": 4}}')
    assert run(*command, "--resume").code == 0
    assert engine.scored == ["a", "a"]
    assert [item["sample_id"] for item in json.loads(Path("out/eval_results.json").read_text())["19"]] == [4]


def test_an_interrupted_run_goes_on(infer: Inference, engine: Engine, place: Path, run: Callable[..., Any]) -> None:
    engine.stop_after = 2
    outcome = run(*SUITE, "--out", "out")
    assert outcome.code == 130 and outcome.err.endswith("--suite-dir kb --device cpu --out out --resume\n")
    engine.stop_after = None
    assert run(*SUITE, "--out", "out", "--resume").code == 0
    assert sorted(engine.scored) == sorted(Path(name).stem for name in map(str, Path("run").iterdir()))


def test_options_make_keys_differ(infer: Inference) -> None:
    task = load_task("level1/relu")
    item = Submission("a", task.id, KERNEL, "a.py", origin={"suite": "kernelbench", "level": 1, "problem_id": 1, "sample_id": 0})
    options = Options(seed="1")
    changes = [
        options.key(task, replace(item, origin={**item.origin, "sample_id": 1})),
        options.key(task, replace(item, id="b")),
        options.key(task, replace(item, source=f"{KERNEL}\n")),
        replace(options, timing=("eager",)).key(task, item),
        options.key(task, item),
    ]
    assert len(set(changes)) == 5
    assert options.key(task, item) == options.key(task, replace(item, origin=dict(reversed(item.origin.items()))))


def test_a_skipped_kernel_is_told_with_its_reason() -> None:
    facts = Submission("a", "level1/x", "", "a.py").to_json()
    assert (
        brief(Result("key", facts, "skipped", "an inline CUDA kernel needs a GPU"))
        == "no verdict: an inline CUDA kernel needs a GPU"
    )
