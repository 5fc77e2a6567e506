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

HEAVY = {
    "level1/attention/flash_const",
    "level1/attention/flash_tiles",
    "level4/gated_delta_rule/chunkwise",
    "level4/gated_delta_rule/forward",
}
"""Kernels whose every call takes the interpreter half a second."""

pytestmark = pytest.mark.xdist_group("verdicts")
OPTIONS = Options(seed="tests", device="cpu", jobs=2, legacy=())


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    """Both in one run, by id: what the oracle of a task knows is found out once."""
    entries = [entry.submission() for entry in load_catalog() if not entry.requires]
    demo = [item for item in discover([ROOT / "submissions"]) if item.id not in HEAVY]
    return {result.id: result for result in run([*entries, *demo], OPTIONS)}


@pytest.fixture(scope="module")
def heavy_results() -> dict[str, Result]:
    demo = [item for item in discover([ROOT / "submissions"]) if item.id in HEAVY]
    return {result.id: result for result in run(demo, OPTIONS)}


def test_the_red_team_is_judged_right(results: dict[str, Result]) -> None:
    """Every broken kernel is refused for an expected reason, and no honest one is."""
    entries = load_catalog()
    matrix = judge(entries, results.values(), device="cpu")
    assert [f"{item.entry.id}: {item.reason}" for item in matrix.bad] == []
    assert matrix.exit_code == 0 and len(matrix.judgements) == len(entries)


def test_the_demo_is_judged_as_its_readme_says(results: dict[str, Result]) -> None:
    said = rows()
    assert len(said) == 40
    assert {name for name in results if name.startswith("level")} == set(said) - HEAVY
    for name in set(said) - HEAVY:
        check(results[name], said[name])


@pytest.mark.slow
@pytest.mark.study
def test_so_are_the_heavy_ones(heavy_results: dict[str, Result]) -> None:
    assert set(heavy_results) == HEAVY
    for name, result in heavy_results.items():
        check(result, rows()[name])


def rows() -> dict[str, str]:
    """The code that the README gives for each submission; empty for a clean one."""
    text = (ROOT / "submissions/README.md").read_text()
    return dict(re.findall(r"^\| `(level\S+?)\.py` \|.*?\| (?:`([^`]+)`)? ?\|", text, re.MULTILINE))


def check(result: Result, code: str) -> None:
    assert result.status == "scored"
    assert not any(verdict.status == "ERROR" for verdict in result.verdicts), result.id
    # All are Triton kernels, and compile for every target.
    assert any(verdict.gate == "RES-02" and verdict.status == "PASS" for verdict in result.verdicts), result.id
    shows = code and result.id not in NEEDS_A_GPU
    assert code in result.codes if shows else not result.codes, (result.id, code, result.codes)
