"""No gate refuses a task's own model.

Here for a part of the tasks, and for none of the networks of level 3, which take minutes; ``benchmarks/honesty.py`` scores all, in
real workers.
"""

from __future__ import annotations

import pytest

from kcbench.domain.verdict import ERROR, FAIL, PASS
from kcbench.mutants.subject import as_kernel
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.score import score_here
from kcbench.tasks import load_task
from tests.chosen import ALL, CORE

EVERY = 29


@pytest.mark.slow
@pytest.mark.parametrize("name", [task for task in ALL if task not in CORE and not task.startswith("level3/")][::EVERY])
def test_no_gate_refuses_the_model(name: str) -> None:
    task = load_task(name)
    verdicts = score_here(as_kernel(task.code), task, TaskOracle(task, seed="honest"))
    assert [verdict for verdict in verdicts if verdict.status in (FAIL, ERROR)] == []
    assert sum(verdict.status == PASS for verdict in verdicts) >= 4
