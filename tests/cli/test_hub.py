"""``kcbench hub build`` and ``kcbench hub export``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcbench import __version__
from kcbench.hub import build as building
from kcbench.report.store import RunFolder
from tests.cli.conftest import Outcome
from tests.dataset.conftest import copy_tasks
from tests.report.conftest import HEADER, result

Run = Callable[..., Outcome]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """A run folder with two submissions of one author."""
    with RunFolder.create(tmp_path / "run", {**HEADER, "kcbench_version": __version__}) as folder:
        folder.append(result("a"))
        folder.append(result("b", "EXC-01.absorbed"))
    return tmp_path / "run"


def test_build(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = copy_tasks(tmp_path / "root")
    (root / "CITATION.cff").write_text("cff-version: 1.2.0\n", encoding="utf-8")
    monkeypatch.setattr(building, "data_root", lambda: root)
    done = run("hub", "build", "--out", tmp_path / "dataset", "--version", "v1", "--repo", "someone/kernels")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{tmp_path}/dataset: version v1, 5 tasks (all 5, level_1 3, level_2 1, level_4 1, references 5)\n"
    assert "someone/kernels" in (tmp_path / "dataset" / "README.md").read_text("utf-8")
    assert (tmp_path / "dataset" / "CITATION.cff").read_text("utf-8") == "cff-version: 1.2.0\n"

    (root / "tasks" / "level1" / "relu" / "contract.json").unlink()
    done = run("hub", "build", "--out", tmp_path / "dataset")
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert "task level1/relu has no contract" in done.err
    assert done.err.count("\n") == 1

    (tmp_path / "dataset" / "kcbench.json").unlink()
    assert "holds something else than a build" in run("hub", "build", "--out", tmp_path / "dataset").err


def test_export(run: Run, scored: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.yaml"
    done = run("hub", "export", scored, "--format", "eval-results", "--repo", "someone/kernels", "--out", out)
    assert (done.code, done.out, done.err) == (0, "", "")
    entries: Any = yaml.safe_load(out.read_text("utf-8"))
    assert [entry["dataset"] for entry in entries] == [
        {"id": "someone/kernels", "task_id": "all"},
        {"id": "someone/kernels", "task_id": "level_1"},
    ]
    assert entries[0]["date"] == HEADER["created"], "it is text, not a YAML time"
    done = run("hub", "export", scored, "--format", "every-eval-ever", "--model", "maker/model", "--out", "-")
    assert done.code == 0
    assert json.loads(done.out)["model_info"]["id"] == "maker/model"


def test_export_refuses(run: Run, scored: Path, tmp_path: Path) -> None:
    out = tmp_path / "x"
    for arguments, message in (
        ((scored, "--format", "eval-results"), "--repo: the dataset is not known"),
        ((tmp_path, "--format", "eval-results"), "is not a run folder"),
        ((scored, "--format", "every-eval-ever", "--author", "nobody"), "the run has no submission by nobody"),
        ((scored, "--format", "nonsense"), "nonsense"),
    ):
        done = run("hub", "export", *arguments, "--out", out)
        assert done.code == 2
        assert message in done.err
        assert "Traceback" not in done.err
    assert not out.exists()
