"""New studies against the committed figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcbench.calibration import check as module
from kcbench.calibration.check import check, compare
from kcbench.calibration.committed import Committed, Draw
from kcbench.calibration.figures import measure
from kcbench.errors import KcbenchError
from kcbench.report.proportion import Proportion
from tests.calibration.rows import broken, honest, mutant_line, variant_line

COMMITTED = Committed(
    variants=Draw("7", 40),
    mutants=Draw("8", 60),
    alarms=Proportion(0, 40),
    honest_worst={("CMP-01", "float32"): 0.4, ("PRC-02", "float32"): 0.01},
    detection={"precision": Proportion(50, 50), "all": Proportion(58, 60)},
)


def failing(fair: list[Any], faulty: list[Any], *, same: bool) -> list[str]:
    return [item.what for item in compare(COMMITTED, measure(fair, faulty), same=same) if not item.holds]


def test_honest_noise_may_grow_by_half() -> None:
    faulty = [broken("a", "CMP-01.value")]
    assert failing([honest(CMP01={"float32": 0.6}, PRC02={"float32": 0.05})], faulty, same=True) == []
    assert failing([honest(CMP01={"float32": 0.61})], faulty, same=True) == ["honest worst, CMP-01 float32"]
    assert failing([honest(PRC02={"float32": 0.051})], faulty, same=True) == ["honest worst, PRC-02 float32"]
    assert failing([], faulty, same=True) == []


def test_detection_may_not_fall_below_the_interval() -> None:
    # 92.9 % is the lower end of 50 of 50, and 88.5 % that of 58 of 60.
    faulty = [broken(f"a{i}", "CMP-01.value") for i in range(45)] + [broken(f"b{i}") for i in range(5)]
    assert failing([honest()], faulty, same=True) == ["detection, precision"]
    assert failing([honest()], [*faulty, broken("c"), broken("d")], same=True) == ["detection, precision", "detection, all"]
    # A part of the kernels: the new share is uncertain itself.
    assert failing([honest()], faulty, same=False) == []
    assert failing([honest()], [broken(f"b{i}") for i in range(20)], same=False) == ["detection, precision", "detection, all"]
    assert failing([honest()], [], same=False) == []


def test_false_alarms() -> None:
    fair = [honest(f"t/{i}") for i in range(38)] + [honest(f"t/r{i}", state="refused") for i in range(2)]
    # 8.8 % is the upper end of 0 of 40.
    assert failing(fair, [], same=True) == []
    assert failing([*fair, *(honest(f"t/s{i}", state="refused") for i in range(2))], [], same=True) == ["false alarms"]
    assert failing([honest(f"t/s{i}", state="refused") for i in range(2)], [], same=False) == ["false alarms"]


def test_both_studies_are_made_from_the_committed_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def study(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        made.append(command)
        lines = [variant_line()] if "--variants" in command else [mutant_line()]
        Path(command[command.index("--json") + 1]).write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
        )
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(module.subprocess, "run", study)
    monkeypatch.setattr(module, "QUICK", (4, 100))
    findings = check(COMMITTED, quick=True, jobs=2, quiet=True)
    assert [item.what for item in findings if not item.holds] == []
    start = [sys.executable, "-m", "kcbench", "redteam"]
    for command, what, count, seed in zip(made, ("--variants", "--mutants"), ("4", "60"), ("7", "8"), strict=True):
        assert command[:12] == [*start, what, count, "--seed", seed, "--device", "cpu", "--language", "torch"]
        assert command[-3:] == ["--jobs", "2", "--quiet"]


def test_a_study_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 3))
    with pytest.raises(KcbenchError, match="kcbench redteam --variants: the study ended with exit code 3"):
        check(COMMITTED, quick=True, jobs=None, quiet=True)


def test_nothing_to_check() -> None:
    bare = Committed(Draw("7", 0), Draw("7", 0), Proportion(0, 0), {}, {})
    with pytest.raises(KcbenchError, match="nothing is calibrated yet"):
        check(bare, quick=True, jobs=None, quiet=True)


@pytest.mark.slow
def test_the_committed_figures_hold() -> None:
    if not Committed.read().variants.count:
        pytest.skip("nothing is calibrated yet")
    done = subprocess.run(
        [sys.executable, "-m", "kcbench", "calibrate", "--check", "--quick"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
