"""A run that is killed and resumed ends with what an undisturbed run says, nothing twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sorted((ROOT / "kcbench" / "redteam").glob("*/*relu*/*.py")) + sorted(
    (ROOT / "kcbench" / "redteam").glob("broken/*/level1_relu.py")
)
BY_CHANCE = ("cached_result", "no_op_via_side_channel", "writes_outside")
"""Defects whose wrong answers follow from where memory happens to lie, and what lies beside it."""


def kcbench(*args: str, **options: object) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "kcbench",
        "eval",
        *args,
        "--device",
        "cpu",
        "--seed",
        "resume",
        "--legacy",
        "none",
        "--jobs",
        "2",
        "--quiet",
    ]
    return subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **options
    )


def results(folder: Path) -> dict[str, str]:
    """Result by id without its timings; fails where one stands twice."""
    found: dict[str, str] = {}
    for line in (folder / "verdicts.jsonl").read_text().splitlines():
        data = json.loads(line)
        del data["timings"]
        assert data["submission"]["id"] not in found
        found[data["submission"]["id"]] = json.dumps(data, sort_keys=True)
    return found


@pytest.mark.slow
def test_a_run_killed_at_five_random_moments_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    quick = [path for path in KERNELS if "triton" not in path.name and path.parent.name not in BY_CHANCE]
    source = tmp_path / "kernels" / "level1" / "relu"
    source.mkdir(parents=True)
    for number in range(40):
        path = quick[number % len(quick)]
        (source / f"k{number:02}.py").write_text(f"# kernel {number}\n{path.read_text()}")

    calm = tmp_path / "calm"
    assert kcbench(str(source), "--out", str(calm)).wait(timeout=300) == 0
    expected = results(calm)
    assert len(expected) == 40

    rough = tmp_path / "rough"
    moments = random.Random(20261129)
    for attempt in range(5):
        resume = ["--resume"] if (rough / "run.json").exists() else []
        run = kcbench(str(source), "--out", str(rough), *resume)
        before = _lines(rough)
        deadline = time.monotonic() + 120
        # Wait until it has done some work, so that five kills fall into different parts of the run.
        while _lines(rough) < min(before + 1 + attempt, 39) and time.monotonic() < deadline and run.poll() is None:
            time.sleep(0.05)
        time.sleep(moments.uniform(0.0, 0.7))
        os.killpg(run.pid, signal.SIGKILL)
        run.wait(timeout=30)
    last = kcbench(str(source), "--out", str(rough), "--resume")
    assert last.wait(timeout=300) == 0, last.stderr.read() if last.stderr else b""
    assert results(rough) == expected


def _lines(folder: Path) -> int:
    path = folder / "verdicts.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
