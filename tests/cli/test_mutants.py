"""``kcbench redteam --mutants``: exit codes, the table, survivors, and going on after an interruption."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants.outcome import Outcome  # noqa: E402
from kcbench.mutants.planted import Planted  # noqa: E402
from kcbench.mutants.record import Record  # noqa: E402
from kcbench.mutants.witness import Witness  # noqa: E402
from kcbench.study.opinions import Opinions  # noqa: E402
from tests.cli.studies import Fake, row  # noqa: E402

WITNESS = Witness("value", "output 0 errs 40 times what is allowed", {"batch_size": 3, "dim": 7}, "normal", "float32", 40.0)
RATIOS = {"CMP-01": {"float32": 31.5}}
MORE = ("--task", "level1/relu", "--only", "level1/relu/model", "--device", "cpu")

Answer = Callable[[int, Planted], Record]


def record(item: Planted, status: str = "refused", **more: Any) -> Record:
    codes = ("CMP-01.value",) if status == "refused" else ()
    witness = WITNESS if status in ("refused", "survived") else None
    errors = more.pop("errors", ())
    opinions = more.pop("opinions", None)
    return Record(item, Outcome(item.mutant, status, witness, codes, errors, RATIOS, opinions), seconds=0.5, **more)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], Fake]:
    def use(answer: Answer) -> Fake:
        made = Fake(answer)
        monkeypatch.setattr("kcbench.mutants.study.run_study", made)
        return made

    return use


def test_all_refused(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    made = fake(lambda number, item: record(item, ["refused", "equivalent", "unrunnable", "refused"][number % 4]))
    outcome = run("redteam", "--mutants", 12, "--seed", 5, "--jobs", 3, *MORE)
    assert outcome.code == 0, outcome.err
    assert "12 of " in outcome.out and " mutants, seed 5" in outcome.out
    # 12 made, 3 of them not runnable, 3 equivalent; all 6 others refused, with a lower bound of 0.025 ** (1 / 6).
    assert row(outcome.out, "all") == ["all", "12", "3", "3", "6", "6", "0", "100", "%", "(54.1-100)"]
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "[12/12] mutant of level1/relu/model: " in outcome.err
    assert (made.options["seed"], made.options["device"], made.options["jobs"]) == ("5", "cpu", 3)


def test_shares_are_equal(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    fake(lambda _, item: record(item))
    outcome = run("redteam", "--mutants", 6, "--fault", "shape,state", *MORE)
    assert [row(outcome.out, name)[1] for name in ("shape", "state", "all")] == ["3", "3", "6"]


def test_a_survivor(fake: Callable[[Answer], Fake], run: Callable[..., Any], tmp_path: Path) -> None:
    fake(lambda number, item: record(item, "refused" if number else "survived"))
    outcome = run("redteam", "--mutants", 4, "--seed", 5, *MORE, "--json", tmp_path / "log.jsonl")
    assert outcome.code == 1
    assert row(outcome.out, "all")[4:8] == ["4", "3", "1", "75"]
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    name = lines[0]["id"]
    assert f"survived: {name} ({lines[0]['fault']}), line {lines[0]['line']}: {lines[0]['description']}" in outcome.out
    assert "    witness: value: output 0 errs 40 times what is allowed (normal, float32, batch_size=3, dim=7)\n" in outcome.out
    again = f"kcbench redteam --mutants 1 --seed 5 --device cpu --task level1/relu --only {name}"
    assert f"    again: {again}\n" in outcome.out
    assert [line["status"] for line in lines] == ["survived", "refused", "refused", "refused"]
    assert "class ModelNew" in lines[0]["source"] and "source" not in lines[1]

    # The command finds the same mutant, and it alone.
    made = fake(lambda _, item: record(item))
    assert run(*again.split()[1:]).code == 0
    assert made.given == [[name]]


def test_other_checkers(fake: Callable[[Answer], Fake], run: Callable[..., Any], tmp_path: Path) -> None:
    """Of twelve mutants in two classes eight are witnessed, and one survives."""
    opinions = Opinions(("kernelbench-v0", "four-distributions"), ("kernelbench-v1", "classic-bounds"))

    def answer(number: int, item: Planted) -> Record:
        status = "survived" if number == 0 else ["refused", "equivalent", "refused"][number % 3]
        return record(item, status, opinions=None if status == "equivalent" else opinions)

    made = fake(answer)
    path = tmp_path / "log.jsonl"
    outcome = run("redteam", "--mutants", 12, "--fault", "shape,state", *MORE, "--checkers", "--json", path)
    assert outcome.code == 1 and made.options["checkers"] is True
    tables = outcome.out.replace("\u00a0", " ").partition("survived: ")[0]
    assert max(map(len, tables.splitlines())) <= 80
    by_checker, by_class = tables.partition("witnessed mutants by checker")[2].split("detection by fault class and checker")
    assert row(by_checker, "kcbench") == ["kcbench", "8", "7", "87.5", "%", "(47.3-99.7)"]
    assert row(by_checker, "kernelbench-v0") == ["kernelbench-v0", "8", "0", "0", "%", "(0-36.9)"]
    assert row(by_checker, "classic-bounds") == ["classic-bounds", "8", "8", "100", "%", "(63.1-100)"]
    assert row(by_class, "shape") == ["shape", "4", "75", "%", "0", "%", "100", "%", "0", "%", "100", "%"]
    assert row(by_class, "state") == ["state", "4", "100", "%", "0", "%", "100", "%", "0", "%", "100", "%"]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["refused_by"] == ["kernelbench-v1", "classic-bounds"] and "refused_by" not in lines[1]
    assert lines[0]["ratios"] == RATIOS


def test_a_refused_honest_kernel(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    fake(lambda _, item: record(item, honest_codes=("CMP-03.stride",)))
    outcome = run("redteam", "--mutants", 2, *MORE)
    assert outcome.code == 1
    assert outcome.out.count("an honest kernel is refused: level1/relu/model: CMP-03.stride") == 1


def test_a_gate_that_fails(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    fake(lambda number, item: record(item, "failed", errors=("ORD-02: oh\nno",)) if number else record(item, "survived"))
    outcome = run("redteam", "--mutants", 2, *MORE)
    assert outcome.code == 3
    assert "kcbench failed: level1/relu/model/" in outcome.out and ": ORD-02: oh no\n" in outcome.out
    fake(lambda _, item: record(item, honest_errors=("EXC-01: KeyError",)))
    outcome = run("redteam", "--mutants", 2, *MORE)
    assert outcome.code == 3 and "a gate failed on an honest kernel: level1/relu/model: EXC-01: KeyError" in outcome.out


def test_lines_on_stdout_and_nothing_else(fake: Callable[[Answer], Fake], run: Callable[..., Any]) -> None:
    fake(lambda _, item: record(item))
    outcome = run("redteam", "--mutants", 3, *MORE, "--json", "-")
    assert [json.loads(line)["status"] for line in outcome.out.splitlines()] == ["refused"] * 3
    assert "fault class" in outcome.err
    quiet = run("redteam", "--mutants", 3, *MORE, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_an_interrupted_study_goes_on(fake: Callable[[Answer], Fake], run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    def until_the_third(number: int, item: Planted) -> Record:
        if number == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return record(item)

    first = fake(until_the_third)
    outcome = run("redteam", "--mutants", 6, *MORE, "--json", path)
    assert outcome.code == 130
    assert row(outcome.out, "all")[1] == "3"
    assert "interrupted: 3 of 6 mutants were examined, and are kept; go on with: kcbench redteam" in outcome.err
    assert outcome.err.rstrip().endswith("--resume")

    text = path.read_text()
    path.write_text(text[:-30])  # As a kill in the middle of a write leaves it.
    again = fake(lambda _, item: record(item))
    # The seed was drawn: it is taken from the file.
    outcome = run("redteam", "--mutants", 6, *MORE, "--json", path, "--resume")
    assert outcome.code == 0, outcome.err
    assert "2 of 6 mutants are examined already" in outcome.err
    assert again.given == [first.given[0][2:]]
    assert row(outcome.out, "all")[1] == "6"
    lines = path.read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == first.given[0]
    assert run("redteam", "--mutants", 6, *MORE, "--json", path, "--resume").code == 0
    assert again.given[1] == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--mutants", "2", "--fault", "indx"], "--fault: unknown name 'indx' (did you mean index?)"),
        (["--mutants", "2", "--fault", "nonsense"], "--fault: unknown name 'nonsense' (known: arithmetic, boundary,"),
        (["--mutants", "2", "--task", "level1/sofmax"], "there is no task 'level1/sofmax' (did you mean level1/softmax"),
        (["--mutants", "2", "--task", "level1/relu", "--only", "x/y"], "--task, --only, --language, --fault: no mutant fits"),
        (["--fault", "index"], "--fault: goes with --mutants only"),
        (["--language", "triton"], "--language: goes with --mutants or --variants only"),
        (["--resume"], "--resume: goes with --mutants or --variants only"),
        (["--mutants", "2", "--resume"], "--resume: needs a file to go on with (name it with --json)"),
        (["--mutants", "2", "--resume", "--json", "-"], "--resume: needs a file to go on with (name it with --json)"),
        (["--mutants", "2", "--resume", "--json", "none"], "none: there is no such file to go on with"),
        (["--mutants", "2", "--json", "log"], "log: is not empty (add --resume to go on with it"),
        (["--mutants", "2", "--resume", "--json", "log", "--seed", "9"], "log: was made with seed=5, not 9"),
        (["--mutants", "2", "--resume", "--json", "log", "--equivalents"], "log: was made with equivalents=False, not True"),
        (["--mutants", "2", "--resume", "--json", "log", "--checkers"], "log: was made with checkers=False, not True"),
        (["--mutants", "2", "--resume", "--json", "notes"], "notes: line 1 is no mutant of a study"),
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
        assert run("redteam", "--mutants", "1", "--seed", "5", *MORE, "--json", "log").code == 0
    (tmp_path / "notes").write_text("by hand\n")
    outcome = run("redteam", "--device", "cpu", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {expected}") or expected in outcome.err
    assert outcome.err.count("\n") == 1
    assert len(made.given) == ("log" in options)


def test_the_other_checkers_run_on_the_cpu(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.engine.resolve_device", lambda _device: "cuda")
    outcome = run("redteam", "--mutants", 1, "--checkers")
    assert outcome.code == 2 and outcome.err.startswith("error: --checkers: the other checkers run on the CPU")


@pytest.mark.slow
def test_for_real(run: Callable[..., Any], tmp_path: Path) -> None:
    more = (*MORE, "--jobs", 1, "--checkers", "--json", tmp_path / "log.jsonl")
    outcome = run("redteam", "--mutants", 3, "--seed", 1, *more)
    assert outcome.code == 0, outcome.out + outcome.err
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert len(lines) == 3 and {line["study"]["seed"] for line in lines} == {"1"}
    refused = [line for line in lines if line["status"] == "refused"]
    assert refused and all(line["witness"]["kind"] and line["codes"] for line in refused)
    assert all(len(line["accepted_by"]) + len(line["refused_by"]) == 4 for line in refused)
