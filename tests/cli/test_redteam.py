"""``kcbench redteam``, with an engine that refuses what is broken, or fails to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcbench.domain.result import Result
from kcbench.domain.schema import load_json
from kcbench.domain.submission import Submission
from kcbench.domain.verdict import FAIL, PASS, Finding, Verdict
from kcbench.redteam.catalog import load_catalog


def _results(submissions: Sequence[Submission], *, refuse: bool) -> list[Result]:
    entries = {entry.id: entry for entry in load_catalog()}
    results = []
    for item in submissions:
        expected = entries[item.id].expect
        verdict = Verdict("CMP-01", PASS, checks=1)
        if expected and refuse:
            gate, _, code = expected[0].partition(".")
            verdict = Verdict(gate, FAIL, (Finding(code, "it is broken"),), checks=1)
        results.append(Result(item.id, item.to_json(), "scored", verdicts=(verdict,)))
    return results


@pytest.mark.parametrize(("refuse", "code"), [(True, 0), (False, 1)])
def test_exit_code(refuse: bool, code: int, tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcbench.engine.run", lambda submissions, _options, **_more: _results(submissions, refuse=refuse))
    outcome = run("redteam", "--device", "cpu", "--json", tmp_path / "out.json")
    assert outcome.code == code, outcome.err
    assert "Broken kernels" in outcome.out
    assert load_json(tmp_path / "out.json", "report")["gap"] is None


def test_nothing_fits(run: Callable[..., Any]) -> None:
    outcome = run("redteam", "--task", "level1/nonsense")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
