"""The verdicts that are known beforehand: the red team's, and those of the submissions that are shipped as the demo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kcbench.domain.result import Result
from kcbench.engine import Options, run
from kcbench.redteam.catalog import load_catalog
from kcbench.redteam.matrix import judge
from kcbench.suites.folder import discover

ROOT = Path(__file__).resolve().parents[2]
NEEDS_A_GPU = {"level1/matmul/tensor_core", "level1/sum_axis/atomic"}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verdicts")]


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    """Both in one run, by id: what the oracle of a task knows is found out once."""
    entries = [entry.submission() for entry in load_catalog() if not entry.requires]
    options = Options(seed="tests", device="cpu", jobs=2, legacy=())
    return {result.id: result for result in run([*entries, *discover([ROOT / "submissions"])], options)}


def test_the_red_team_is_judged_right(results: dict[str, Result]) -> None:
    """Every broken kernel is refused for an expected reason, and no honest one is."""
    entries = load_catalog()
    matrix = judge(entries, results.values(), device="cpu")
    assert [f"{item.entry.id}: {item.reason}" for item in matrix.bad] == []
    assert matrix.exit_code == 0 and len(matrix.judgements) == len(entries)


def test_the_demo_is_judged_as_its_readme_says(results: dict[str, Result]) -> None:
    rows = re.findall(
        r"^\| `(level\S+?)\.py` \|.*?\| (?:`([^`]+)`)? ?\|", (ROOT / "submissions/README.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 40
    assert {name for name in results if name.startswith("level")} == {name for name, _ in rows}
    for name, code in rows:
        result = results[name]
        assert result.status == "scored"
        assert not any(verdict.status == "ERROR" for verdict in result.verdicts), name
        # All are Triton kernels, and compile for every target.
        assert any(verdict.gate == "RES-02" and verdict.status == "PASS" for verdict in result.verdicts), name
        assert code in result.codes if code and name not in NEEDS_A_GPU else not result.codes, (name, code, result.codes)
