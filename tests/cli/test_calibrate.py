"""``kcbench calibrate``: what it prints and writes, and one line for whatever is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcbench.calibration import committed
from kcbench.calibration.check import Finding
from kcbench.domain.schema import load_json
from kcbench.numerics import constants
from tests.calibration.rows import mutant_line, variant_line


@pytest.fixture
def study(tmp_path: Path) -> tuple[str, Path, str, Path]:
    """The options for a small study."""
    variants, mutants = tmp_path / "variants.jsonl", tmp_path / "mutants.jsonl"
    variants.write_text(json.dumps(variant_line()) + "\n", encoding="utf-8")
    mutants.write_text(json.dumps(mutant_line()) + "\n", encoding="utf-8")
    return "--variants", variants, "--mutants", mutants


def test_figures_and_fit(study: Any, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.calibration.fit.FEWEST", 1)
    before = constants.PATH.read_bytes()
    outcome = run("calibrate", *study)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Honest noise and broken error" in outcome.out
    [line] = [line.split() for line in outcome.out.splitlines() if line.startswith("kappa")]
    assert line[:7] == ["kappa", "8", "0.4", "40", "4", "320", "256"]
    assert constants.PATH.read_bytes() == before
    assert run("calibrate", *study, "--quiet").out == ""


def test_write(study: Any, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, root = tmp_path / "constants.json", tmp_path / "checkout"
    (root / "docs" / "images").mkdir(parents=True)
    path.write_bytes(constants.PATH.read_bytes())
    monkeypatch.setattr(constants, "PATH", path)
    monkeypatch.setattr(committed, "PATH", path)
    monkeypatch.setattr("kcbench.paths.data_root", lambda: root)
    monkeypatch.setattr("kcbench.calibration.fit.FEWEST", 1)
    outcome = run("calibrate", *study, "--write", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    monkeypatch.undo()
    data = load_json(path, "constants")
    assert data["constants"]["kappa"]["interval"] == {"low": 4.0, "high": 320.0}
    assert data["provenance"]["mutants"] == {"seed": "7", "count": 1, "language": "torch", "torch": ["2.0"], "judged": 1}
    page = (root / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert "Below: 1 honest kernel and 1 fault with a witness" in page
    assert "kcbench redteam --mutants 1 --seed 7 --device cpu --language torch " in page
    assert (root / "docs" / "images" / "calibration.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_write_needs_a_checkout(study: Any, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.paths.data_root", lambda: tmp_path)
    outcome = run("calibrate", *study, "--write")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "error: --write: needs a checkout of kcbench, with its docs (leave it away)\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "is empty"),
        (b"\x00\xff", "is not UTF-8 text"),
        (b"not JSON", "line 1 is no mutant of a study: it is not JSON"),
        (b'{"subject": "a/b/c", "language": "torch"}', "line 1 is no mutant of a study: expected the key 'id'"),
    ],
)
def test_a_bad_file(data: bytes | None, message: str, study: Any, run: Callable[..., Any], tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    if data is not None:
        bad.write_bytes(data)
    outcome = run("calibrate", *study[:3], bad)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {bad}: {message}") and outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "both files of a study are needed"),
        (("--variants", "x"), "both files of a study are needed"),
        (("--check", "--write"), "--check: makes its own studies"),
        (("--check", "--mutants", "x"), "--check: makes its own studies"),
        (("--quick",), "--quick: goes with --check only"),
        (("--jobs", 2), "--jobs: goes with --check only"),
    ],
)
def test_options_that_do_not_go_together(arguments: tuple[Any, ...], message: str, run: Callable[..., Any]) -> None:
    outcome = run("calibrate", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err and outcome.err.count("\n") == 1


def test_check(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    findings = [Finding("false alarms", "0 %", "0 %", True)]
    monkeypatch.setattr("kcbench.calibration.check.check", lambda *_, **options: tuple(findings))
    assert run("calibrate", "--check", "--quick").code == 0
    findings.append(Finding("detection, all", "99 %", "50 %", False))
    outcome = run("calibrate", "--check")
    assert outcome.code == 1
    [line] = [line for line in outcome.out.splitlines() if line.startswith("detection")]
    assert line.rstrip().endswith("does not hold")
