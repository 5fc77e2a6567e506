"""Stand-ins for inference and the engine, and a folder with a checkout and a run, for the tests of suites."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kcbench.cli import inference
from kcbench.domain.result import LegacyScore, Result
from kcbench.domain.submission import Submission
from kcbench.domain.task import Task
from kcbench.domain.verdict import FAIL, PASS, Finding, Verdict
from kcbench.engine import Event, Options
from kcbench.errors import KcbenchError
from kcbench.tasks import load_task

PROBLEM = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
"""


KERNEL = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"


class Inference:
    """Stands in for contract inference: problems whose code says so cannot be used, or show a fault of kcbench."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, code: str, *, task_id: str, cache: Path | None = None) -> Task:
        self.asked.append(task_id)
        if "unusable" in code:
            raise KcbenchError("get_inputs fails: ValueError: no", where=task_id)
        if "faulty" in code:
            raise ZeroDivisionError("division by zero")
        return replace(load_task("level1/relu"), id=task_id, code=code)


class Engine:
    """Stands in for :func:`kcbench.engine.run`: the kernel's text says what comes out."""

    def __init__(self) -> None:
        self.scored: list[str] = []
        self.options: list[Options] = []
        self.stop_after: int | None = None

    def __call__(self, submissions: Sequence[Submission], options: Options, **more: Any) -> list[Result]:
        self.options.append(options)
        results = []
        for item in submissions:
            if self.stop_after is not None and len(self.scored) >= self.stop_after:
                raise KeyboardInterrupt
            key = f"problem-{item.id}-{item.problem}" if item.problem else options.key(more["tasks"][item.task], item)
            results.append(self.answer(item, key))
            self.scored.append(item.id)
            more["on_event"](Event("finished", item, results[-1]))
        return results

    def answer(self, item: Submission, key: str) -> Result:
        if item.problem:
            return Result(key, item.to_json(), "unloadable", item.problem)
        correct, clean = "# wrong" not in item.source, "# refused" not in item.source
        finding = Finding("value", "one element is wrong", True, (), {})
        verdict = Verdict("CMP-01", PASS, checks=1) if clean else Verdict("CMP-01", FAIL, (finding,), checks=1)
        legacy = (
            LegacyScore(
                "kernelbench-v1", True, correct, "(5 / 5)" if correct else "(0 / 5)", (), "" if correct else "output mismatch"
            ),
        )
        return Result(key, item.to_json(), "scored", "", legacy, (verdict,), (item.language,), {"device": "cpu"}, {"total": 0.5})


@pytest.fixture
def infer(monkeypatch: pytest.MonkeyPatch) -> Inference:
    """Contract inference in threads, so that the stand-in is seen."""
    made = Inference()
    module = ModuleType("kcbench.infer")
    module.task_of_problem = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kcbench.infer", module)

    def executor(jobs: int) -> Executor:
        return ThreadPoolExecutor(jobs)

    monkeypatch.setattr(inference, "executor", executor)
    return made


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr("kcbench.engine.run", made)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a checkout and a run of four kernels."""
    monkeypatch.chdir(tmp_path)
    put("kb/KernelBench/level1/19_ReLU.py", PROBLEM)
    put("kb/KernelBench/level1/20_Other.py", f"{PROBLEM}# 20\n")
    put("kb/KernelBench/level1/21_Third.py", f"{PROBLEM}# 21\n")
    put("kb/KernelBench/level2/1_Two.py", f"{PROBLEM}# 2\n")
    put(kernel(1, 19), KERNEL)
    put(kernel(1, 19, 1), f"{KERNEL}# refused\n")
    put(kernel(1, 20), f"{KERNEL}# wrong\n# refused\n")
    put(kernel(1, 300), KERNEL)
    return tmp_path


def put(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def kernel(level: int, problem: int, sample: int = 0) -> str:
    return f"run/level_{level}_problem_{problem}_sample_{sample}_kernel.py"


SUITE = ("eval", "run", "--suite", "kernelbench", "--suite-dir", "kb", "--device", "cpu")
