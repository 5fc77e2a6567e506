"""``kcbench redteam --variants``: exit codes, the tables, and going on after an interruption."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kcbench.ensemble import Variant  # noqa: E402
from kcbench.ensemble.proof import Proof  # noqa: E402
from kcbench.ensemble.record import Record  # noqa: E402
from kcbench.study.opinions import Opinions  # noqa: E402
from kcbench.study.ruling import Ruling  # noqa: E402
from tests.cli.studies import Fake, row  # noqa: E402

RATIOS = {"CMP-01": {"float32": 0.25, "float16": 0.375}}
OPINIONS = Opinions(("kernelbench-v0", "four-distributions", "classic-bounds"), ("kernelbench-v1",))
MORE = ("--task", "level1/relu", "--device", "cpu")

Answer = Callable[[int, Variant], Record]


def record(variant: Variant, *codes: str, faults: tuple[str, ...] = (), errors: tuple[str, ...] = (), **more: Any) -> Record:
    findings = tuple(f"{code}: it errs" for code in codes)
    return Record(variant, Proof(faults, 0.5), Ruling(codes, errors, RATIOS), findings, seconds=0.5, **more)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], Fake]:
    def use(answer: Answer) -> Fake:
        made = Fake(answer)
        monkeypatch.setattr("kcbench.ensemble.study.run_study", made)
        return made

    return use


def test_all_clean(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    made = fake(lambda _, item: record(item))
    outcome = run("redteam", "--variants", 6, "--seed", 5, "--jobs", 3, *MORE)
    assert outcome.code == 0, outcome.err
    assert "6 of " in outcome.out and " variants, seed 5" in outcome.out
    # Half of them in each language; all proven and clean.
    assert row(outcome.out, "level1/relu") == ["level1/relu", "3", "3", "6", "6", "0", "0", "0.375", "CMP-01"]
    assert row(outcome.out, "all")[1:] == row(outcome.out, "level1/relu")[1:]
    # The upper end is 1 - 0.025 ** (1 / 6).
    assert "refused of proven: 0 of 6, 0 % (0-45.9)" in outcome.out.replace("\u00a0", " ")
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "[6/6] variant of level1/relu: " in outcome.err
    assert (made.options["seed"], made.options["jobs"], made.options["checkers"]) == ("5", 3, False)


def test_all_of_a_language(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    made = fake(lambda _, item: record(item))
    assert run("redteam", "--variants", "all", "--language", "triton", *MORE).code == 0
    assert len(made.given[0]) > 3 and all(name.startswith("level1/relu/triton-") for name in made.given[0])


def test_one_that_is_refused(fake: Callable[[Answer], Fake], run: Callable[..., Any], tmp_path: Path) -> None:
    fake(lambda number, item: record(item, *(() if number else ("CMP-01.value",))))
    outcome = run("redteam", "--variants", 4, "--seed", 5, *MORE, "--json", tmp_path / "log.jsonl")
    assert outcome.code == 1
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["state"] for line in lines] == ["refused", "clean", "clean", "clean"]
    assert all(line["proven"] and line["ratios"] == RATIOS and "accepted_by" not in line for line in lines)
    name = lines[0]["id"]
    again = f"kcbench redteam --variants 1 --seed 5 --device cpu --task level1/relu --only {name}"
    assert f"an honest variant is refused: {name}\n    CMP-01.value: it errs\n    again: {again}\n" in outcome.out

    # The command finds the same variant, and it alone.
    made = fake(lambda _, item: record(item))
    assert run(*again.split()[1:]).code == 0
    assert made.given == [[name]]


def test_one_that_is_not_proven_may_be_refused(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    fake(lambda number, item: record(item) if number else record(item, "CMP-01.value", faults=("it changed its inputs",)))
    outcome = run("redteam", "--variants", 2, *MORE)
    assert outcome.code == 0
    assert row(outcome.out, "all")[1:7] == ["1", "1", "1", "1", "0", "0"]
    assert "not proven: level1/relu/torch-" in outcome.out and ": it changed its inputs\n" in outcome.out
    assert "is refused" not in outcome.out


def test_a_failure(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    fake(lambda number, item: record(item, errors=("ORD-02: oh\nno",)) if number else record(item, "CMP-01.value"))
    outcome = run("redteam", "--variants", 2, *MORE)
    assert outcome.code == 3
    assert "kcbench failed: level1/relu/triton-" in outcome.out and ": ORD-02: oh no\n" in outcome.out
    assert "refused of proven: 1 of 1" in outcome.out


def test_other_checkers(fake: Callable[[Answer], Fake], run: Callable[..., Any], tmp_path: Path) -> None:
    made = fake(lambda number, item: record(item, *(() if number else ("CMP-01.value",)), opinions=OPINIONS))
    outcome = run("redteam", "--variants", 6, *MORE, "--checkers", "--json", tmp_path / "log.jsonl")
    assert outcome.code == 1 and made.options["checkers"] is True
    assert max(map(len, (line for line in outcome.out.splitlines() if "again:" not in line))) <= 80
    assert row(outcome.out, "kcbench") == ["kcbench", "6", "1", "16.7", "%", "(0.4-64.1)"]
    assert row(outcome.out, "kernelbench-v0") == ["kernelbench-v0", "6", "0", "0", "%", "(0-45.9)"]
    assert row(outcome.out, "kernelbench-v1") == ["kernelbench-v1", "6", "6", "100", "%", "(54.1-100)"]
    names = [line.split()[0] for line in outcome.out.partition("by checker")[2].splitlines() if "(0-45.9)" in line]
    assert names == ["kernelbench-v0", "four-distributions", "classic-bounds"]
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert all(line["refused_by"] == ["kernelbench-v1"] and len(line["accepted_by"]) == 3 for line in lines)


def test_a_checker_that_failed(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    fake(lambda _, item: record(item, opinions=Opinions(failures={"kernelbench-v0": "KeyError: 'x'"})))
    outcome = run("redteam", "--variants", 1, *MORE, "--checkers")
    tables, failed, _ = outcome.out.partition("kernelbench-v0 failed: level1/relu/torch-")
    assert outcome.code == 3 and failed
    assert row(tables, "kernelbench-v0")[:4] == ["kernelbench-v0", "0", "0", "-"]


def test_an_interrupted_study_goes_on(fake: Callable[[Answer], Fake], run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    def until_the_third(number: int, item: Variant) -> Record:
        if number == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return record(item)

    first = fake(until_the_third)
    outcome = run("redteam", "--variants", 6, *MORE, "--json", path)
    assert outcome.code == 130
    assert "interrupted: 3 of 6 variants were examined, and are kept; go on with: kcbench redteam" in outcome.err
    path.write_text(path.read_text()[:-30])  # As a kill in the middle of a write leaves it.
    again = fake(lambda _, item: record(item))
    outcome = run("redteam", "--variants", 6, *MORE, "--json", path, "--resume")
    assert outcome.code == 0, outcome.err
    assert "2 of 6 variants are examined already" in outcome.err
    assert again.given == [first.given[0][2:]]
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == first.given[0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--variants", "none"], "--variants: expected a number or all, found 'none'"),
        (["--variants", "0"], "--variants: expected a number or all, found '0'"),
        (["--variants", "-3"], "--variants: expected a number or all, found '-3'"),
        (["--variants", "2", "--mutants", "2"], "--variants: does not go with --mutants"),
        (["--variants", "2", "--task", "level1/sofmax"], "the ensemble has no variant of 'level1/sofmax'"),
        (["--variants", "2", "--only", "x/y"], "--task, --only, --language: no variant fits"),
        (["--variants", "2", "--fault", "index"], "--fault: goes with --mutants only"),
        (["--variants", "2", "--equivalents"], "--equivalents: goes with --mutants only"),
        (["--checkers"], "--checkers: goes with --mutants or --variants only"),
        (["--variants", "2", "--resume"], "--resume: needs a file to go on with (name it with --json)"),
        (["--variants", "2", "--json", "log"], "log: is not empty (add --resume to go on with it"),
        (["--variants", "2", "--resume", "--json", "log", "--checkers"], "log: was made with checkers=False, not True"),
        (["--mutants", "2", "--resume", "--json", "log"], "log: line 1 is no mutant of a study"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input(
    options: list[str],
    expected: str,
    fake: Callable[[Answer], Fake],
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    made = fake(lambda _, item: record(item))
    if "log" in options:
        assert run("redteam", "--variants", "1", "--seed", "5", *MORE, "--json", "log").code == 0
    outcome = run("redteam", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert expected in outcome.err and outcome.err.count("\n") == 1
    assert len(made.given) == ("log" in options)


@pytest.mark.slow
def test_for_real(run: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("triton")
    outcome = run("redteam", "--variants", 2, "--seed", 1, *MORE, "--jobs", 1, "--checkers", "--json", tmp_path / "log.jsonl")
    assert outcome.code == 0, outcome.out + outcome.err
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert {line["language"] for line in lines} == {"torch", "triton"} and {line["study"]["seed"] for line in lines} == {"1"}
    for line in lines:
        assert line["proven"] and line["state"] == "clean" and 0 <= line["proof_worst"] <= 1
        assert len(line["accepted_by"]) == 4 and line["refused_by"] == []
        assert set(line["ratios"]) >= {"CMP-01"} and line["ratios"]["CMP-01"]["float32"] < 1
