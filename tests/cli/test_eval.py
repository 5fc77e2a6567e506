"""``kcbench eval`` and what reads its runs, with an engine that answers by the name of the file."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.schema import load_json, validate
from kcbench.domain.submission import Submission
from kcbench.domain.verdict import ERROR, FAIL, NOT_APPLICABLE, PASS, Finding, Verdict
from kcbench.engine import Event, Options
from kcbench.report.catalog import GATES

GOOD = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"


def answer(item: Submission, key: str) -> Result:
    """Clean, or what the file's name says."""
    name = item.id.rpartition("/")[2]
    if item.problem:
        return Result(key, item.to_json(), "unloadable", item.problem)
    if name.startswith("error"):
        return Result(key, item.to_json(), "error", "the harness broke")
    status = {"refused": FAIL, "unanswered": ERROR}.get(name, PASS)
    finding = Finding(
        "value",
        "one element is wrong",
        True,
        ("0" * 16,),
        {"probe": "normal", "kind": "value", "expected": float("nan"), "got": 1.0},
    )
    first = Verdict("CMP-01", status, (finding,) if status == FAIL else (), checks=3)
    rest = [Verdict(gate.id, NOT_APPLICABLE, reason="not asked") for gate in GATES if gate.id not in ("GUARD", "CMP-01")]
    legacy = (LegacyScore("kernelbench-v0", True, True, "(5 / 5)", (float("inf"), 1e-3)),)
    environment = {"device": "cpu"}
    return Result(
        key,
        item.to_json(),
        "scored",
        "",
        legacy,
        (Verdict("GUARD", PASS, checks=1), first, *rest),
        (item.language,),
        environment,
        {"total": 0.5},
    )


class Engine:
    """Stands in for :func:`kcbench.engine.run`, and remembers what it was asked."""

    def __init__(self) -> None:
        self.scored: list[str] = []
        self.options: list[Options] = []
        self.interrupt_after: int | None = None

    def __call__(self, submissions: Sequence[Submission], options: Options, **more: Any) -> list[Result]:
        self.options.append(options)
        results = []
        for number, item in enumerate(submissions):
            if more["stop"].is_set():
                break
            more["on_event"](Event("started", item))
            key = item.digest if item.problem else options.key(more["tasks"][item.task], item)
            results.append(answer(item, key))
            self.scored.append(item.id)
            more["on_event"](Event("finished", item, results[-1]))
            if self.interrupt_after == number + 1:
                os.kill(os.getpid(), signal.SIGINT)
        return results


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr("kcbench.engine.run", made)
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with submissions for one task."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "subs" / "level1" / "relu"
    place.mkdir(parents=True)
    for name in ("clean", "refused"):
        (place / f"{name}.py").write_text(GOOD)
    return place


def test_report_file_and_run_folder(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    (folder / "broken.py").write_text("def")
    outcome = run("eval", "subs", "--out", "out", "--json", "out.json", "--seed", "7", "--device", "cpu")
    assert outcome.code == 0, outcome.err
    data = load_json(Path("out.json"), "report")
    assert [item["submission"]["id"] for item in data["results"]] == [
        f"level1/relu/{name}" for name in ("broken", "clean", "refused")
    ]
    assert [item["status"] for item in data["results"]] == ["unloadable", "scored", "scored"]
    assert data["results"][2]["verdicts"][1]["findings"][0]["evidence"]["expected"] == "nan"
    assert data["gap"]["table"]["accepted_refused"] == 1
    assert data["run"] == load_json(Path("out/run.json"), "run")
    assert (data["run"]["seed"], data["run"]["device"]["kind"]) == ("7", "cpu")
    assert data["run"]["command"] == [
        "kcbench",
        "eval",
        "subs",
        "--out",
        "out",
        "--json",
        "out.json",
        "--seed",
        "7",
        "--device",
        "cpu",
    ]
    for name in ("report.md", "report.html", "results.parquet"):
        assert Path("out", name).stat().st_size > 0
    assert len(Path("out/verdicts.jsonl").read_text().splitlines()) == 3


def test_what_a_person_sees(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    outcome = run("eval", "subs", "--out", "out", "--device", "cpu")
    assert outcome.err.splitlines() == [
        "[1/2] level1/relu/clean: clean 0.5 s",
        "[2/2] level1/relu/refused: refused (CMP-01.value) 0.5 s",
    ]
    assert "rigor gap against kernelbench-v0" in outcome.out
    assert "Run folder: out (report.html, report.md, results.parquet)\n" in outcome.out
    assert outcome.out.endswith("Why one was refused: kcbench show out level1/relu/refused\n")


def test_quiet(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    outcome = run("eval", "subs", "--out", "out", "--device", "cpu", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_json_on_stdout(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    outcome = run("eval", "subs", "--out", "out", "--device", "cpu", "--json", "-")
    validate(json.loads(outcome.out), "report", source="stdout")
    assert "rigor gap" in outcome.err


def test_exit_codes(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    assert run("eval", "subs", "--out", "a", "--device", "cpu").code == 0
    assert run("eval", "subs", "--out", "b", "--device", "cpu", "--strict").code == 1
    assert run("eval", folder / "clean.py", "--out", "c", "--device", "cpu", "--strict").code == 0
    for number, name in enumerate(("error", "unanswered")):
        (folder / f"{name}.py").write_text(GOOD)
        assert run("eval", folder / f"{name}.py", "--out", f"d{number}", "--device", "cpu", "--strict").code == 3


def test_options_reach_the_engine(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    more = [
        "--gates",
        "exc-01,CMP-01",
        "--legacy",
        "none",
        "--time-limit",
        "12",
        "--memory",
        "0.5",
        "--jobs",
        "2",
        "--bounds",
        "classic",
    ]
    assert run("eval", "subs", "--out", "out", "--device", "cpu", "--json", "out.json", *more).code == 0
    (options,) = engine.options
    assert (options.gates, options.legacy, options.jobs, options.bounds) == (("CMP-01", "EXC-01"), (), 2, "classic")
    assert (options.limits.total_seconds, options.limits.call_seconds, options.limits.load_seconds) == (12.0, 12.0, 12.0)
    assert options.limits.memory_bytes == 1 << 29


def test_default_run_folder(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    assert run("eval", "subs", "--device", "cpu").code == 0
    assert run("eval", "subs", "--device", "cpu").code == 0
    first, second = Path("runs").iterdir()
    assert {path.name for path in first.iterdir()} == {path.name for path in second.iterdir()}
    seeds = {options.seed for options in engine.options}
    assert len(seeds) == 2, "each run draws its own seed"


def test_a_run_is_not_overwritten(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    assert run("eval", "subs", "--out", "out", "--device", "cpu").code == 0
    outcome = run("eval", "subs", "--out", "out", "--device", "cpu")
    assert outcome.code == 2
    assert outcome.err == "error: out: holds a run already (add --resume to go on with it, or choose another folder)\n"


def test_interrupt_and_resume(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    for number in range(3):
        (folder / f"more{number}.py").write_text(GOOD)
    engine.interrupt_after = 2
    outcome = run("eval", "subs", "--out", "out", "--device", "cpu")
    assert outcome.code == 130
    last = outcome.err.splitlines()[-1]
    assert last.startswith("interrupted: 2 of 5 submissions were scored, and are kept; go on with: ")
    assert last.endswith("kcbench eval subs --out out --device cpu --resume")
    assert len(Path("out/verdicts.jsonl").read_text().splitlines()) == 2

    engine.interrupt_after = None
    outcome = run(*last.partition("go on with: kcbench ")[2].split())
    assert outcome.code == 0, outcome.err
    assert "2 of 5 submissions are scored already" in outcome.err
    assert engine.scored == [f"level1/relu/{name}" for name in ("clean", "more0", "more1", "more2", "refused")]
    assert engine.options[0].seed == engine.options[1].seed
    assert len(Path("out/verdicts.jsonl").read_text().splitlines()) == 5


def test_interrupt_in_a_default_folder(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    engine.interrupt_after = 1
    outcome = run("eval", "subs", "--device", "cpu")
    (made,) = Path("runs").iterdir()
    assert outcome.err.endswith(f"kcbench eval subs --device cpu --resume --out {made}\n")
    engine.interrupt_after = None
    assert run("eval", "subs", "--device", "cpu", "--resume").code == 0
    assert len((made / "verdicts.jsonl").read_text().splitlines()) == 2


def test_second_interrupt_stops_at_once(folder: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def stubborn(*_args: object, **_more: object) -> list[Result]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("not stopped")

    monkeypatch.setattr("kcbench.engine.run", stubborn)
    before = signal.getsignal(signal.SIGINT)
    outcome = run("eval", "subs", "--out", "out", "--device", "cpu")
    assert outcome.code == 130
    assert "interrupted: 0 of 2 submissions were scored, and are kept" in outcome.err
    assert signal.getsignal(signal.SIGINT) is before


def test_report_again(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    run("eval", "subs", "--out", "out", "--device", "cpu")
    Path("out/report.html").unlink()
    outcome = run("report", "out", "--without", "CMP-01.value", "--json", "again.json")
    assert outcome.code == 0, outcome.err
    assert load_json(Path("again.json"), "report")["gap"]["without"] == ["CMP-01.value"]
    assert Path("out/report.html").exists()
    assert run("report", "out", "--without", "CMP-01.nonsense").code == 2


def test_show(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    run("eval", "subs", "--out", "out", "--device", "cpu")
    outcome = run("show", "out", "level1/relu/refused")
    assert outcome.code == 0
    assert outcome.out.startswith(
        "level1/relu/refused on level1/relu\nrefused: 1 pass, 1 fail, 11 n.a.\nkernelbench-v0 accepts it (5 / 5)\n"
    )
    assert "\nCMP-01.value (input diversity, silent)\n" in outcome.out
    assert "See it again: kcbench repro out level1/relu/refused CMP-01\n" in outcome.out
    assert "CMP-02 NOT_APPLICABLE: not asked" in outcome.out
    missing = run("show", "out", "refused")
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    assert "did you mean level1/relu/refused?" in missing.err


def test_repro_refuses(engine: Engine, folder: Path, run: Callable[..., Any]) -> None:
    run("eval", "subs", "--out", "out", "--device", "cpu")
    assert "what did: CMP-01.value" in run("repro", "out", "level1/relu/refused", "EXC-01").err
    assert "no gate refused it" in run("repro", "out", "level1/relu/clean", "CMP-01").err
    (folder / "refused.py").write_text(GOOD + "\n")
    assert "has changed since the run" in run("repro", "out", "level1/relu/refused", "CMP-01").err
    (folder / "refused.py").unlink()
    outcome = run("repro", "out", "level1/relu/refused", "CMP-01")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "the submission is not there (name the file that was scored with --source)" in outcome.err


def test_real_engine(folder: Path, run: Callable[..., Any]) -> None:
    """One kernel, one gate, through the real engine: the options and events fit together, and a refusal can be reproduced."""
    (folder / "refused.py").write_text(GOOD.replace("relu(x)", "relu(x.abs())"))
    outcome = run(
        "eval", "subs", "--out", "out", "--device", "cpu", "--gates", "CMP-01", "--legacy", "kernelbench-v0", "--json", "out.json"
    )
    assert outcome.code == 0, outcome.err
    results = load_json(Path("out.json"), "report")["results"]
    assert [[verdict["status"] for verdict in item["verdicts"]] for item in results] == [["PASS"], ["FAIL"]]
    outcome = run("repro", "out", "level1/relu/refused", "CMP-01")
    assert outcome.code == 0, outcome.err
    assert Path(outcome.out.splitlines()[0]).is_file()
