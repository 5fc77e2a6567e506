"""The verdicts that are known beforehand: the red team's, and those of the submissions that are shipped as the demo."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS_A_GPU = {"level1/matmul/tensor_core", "level1/sum_axis/atomic"}


def kcbench(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kcbench", *args, "--device", "cpu", "--seed", "tests", "--quiet"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)


@pytest.mark.slow
def test_the_red_team_is_judged_right(tmp_path: Path) -> None:
    """Every broken kernel is refused for an expected reason, and no honest one is."""
    out = tmp_path / "redteam.json"
    done = kcbench("redteam", "--json", str(out))
    results = json.loads(out.read_text())["results"]
    refused = {item["submission"]["id"] for item in results if any(verdict["status"] == "FAIL" for verdict in item["verdicts"])}
    assert {name for name in refused if name.startswith("honest/")} == set()
    assert {item["submission"]["id"] for item in results if item["submission"]["id"].startswith("broken/")} <= refused
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_demo_is_judged_as_its_readme_says(tmp_path: Path) -> None:
    rows = re.findall(
        r"^\| `(level\S+?)\.py` \|.*?\| (?:`([^`]+)`)? ?\|", (ROOT / "submissions/README.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 40
    out = tmp_path / "demo.json"
    assert kcbench("eval", "submissions", "--legacy", "none", "--out", str(tmp_path / "run"), "--json", str(out)).returncode == 0
    results = {item["submission"]["id"]: item for item in json.loads(out.read_text())["results"]}
    assert set(results) == {name for name, _ in rows}
    for name, code in rows:
        verdicts = results[name]["verdicts"]
        found = {f"{verdict['gate']}.{finding['code']}" for verdict in verdicts for finding in verdict["findings"]}
        assert results[name]["status"] == "scored"
        assert not any(verdict["status"] == "ERROR" for verdict in verdicts), name
        assert code in found if code and name not in NEEDS_A_GPU else not found, (name, code, found)
