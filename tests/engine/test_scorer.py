"""A scorer gives the verdicts that a run gives, and keeps what it may keep."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import kcbench
from kcbench.domain.task import Task
from kcbench.engine import Options, Scorer, evaluate, shared
from kcbench.errors import KcbenchError, MissingExtraError
from kcbench.tasks import load_task

HEAD = "import os\nimport torch, torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        "
RELU, ABSORBING, DYING = HEAD + "return torch.relu(x)\n", HEAD + "return torch.nan_to_num(x).relu()\n", HEAD + "os._exit(3)\n"
OPTIONS = Options(seed="scorer", device="cpu", gates=("CMP-01", "EXC-01"), legacy=())


@pytest.fixture
def oracles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the tasks that an oracle was made for, in order."""
    made: list[str] = []
    real = shared.TaskOracle

    def counted(task: Task, **more: Any) -> Any:
        made.append(task.id)
        return real(task, **more)

    monkeypatch.setattr(shared, "TaskOracle", counted)
    return made


def test_the_verdicts_are_those_of_a_run_for_itself() -> None:
    with Scorer(options=OPTIONS) as scorer:
        for source in (RELU, ABSORBING, DYING, RELU):
            mine, alone = scorer.score("level1/relu", source), evaluate("level1/relu", source, options=OPTIONS)
            assert dataclasses.replace(mine, timings={}) == dataclasses.replace(alone, timings={})
            assert mine.clean == (source is RELU)
            assert ("EXC-01.absorbed" in mine.codes) == (source is ABSORBING)


def test_oracles_of_the_latest_tasks_are_kept(oracles: list[str]) -> None:
    with Scorer(options=OPTIONS, kept=2) as scorer:
        for name in ("relu", "relu", "gelu", "relu", "softmax", "relu", "gelu"):
            scorer.score(f"level1/{name}", RELU)
    assert oracles == [f"level1/{name}" for name in ("relu", "gelu", "softmax", "gelu")]


def test_tasks_of_one_id_are_told_apart(oracles: list[str]) -> None:
    relu = load_task("level1/relu")
    other = dataclasses.replace(load_task("level1/gelu"), id=relu.id)
    with Scorer(options=OPTIONS) as scorer:
        assert [scorer.score(task, RELU).clean for task in (relu, other, relu)] == [True, False, True]
        assert len(oracles) == 3
        with ThreadPoolExecutor(4) as threads:
            found = threads.map(lambda task: scorer.score(task, RELU).clean, (relu, other, relu, other))
        assert list(found) == [True, False, True, False]


def test_several_kernels_of_a_task(oracles: list[str]) -> None:
    with kcbench.Scorer(options=dataclasses.replace(OPTIONS, jobs=2)) as scorer:
        sources = [RELU, DYING, ABSORBING, "no python", RELU]
        found = scorer.score_all("level1/relu", sources)
    assert [(result.status, result.clean) for result in found] == [
        ("scored", True),
        ("scored", False),
        ("scored", False),
        ("unloadable", False),
        ("scored", True),
    ]
    assert oracles == ["level1/relu"]


def test_what_cannot_be_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scorer(options=OPTIONS) as scorer:
        with pytest.raises(KcbenchError, match="there is no task 'level1/rely'"):
            scorer.score("level1/rely", RELU)
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError):
            scorer.score("level1/relu", "# kcbench: language=triton\n" + RELU)
