"""No gate refuses a task's own model, nor other forms of the same formula.

The models are those of a part of the tasks, and of none of the networks of level 3, which take minutes; ``benchmarks/honesty.py``
scores all, in real workers.
"""

from __future__ import annotations

import pytest

from kcbench.domain.verdict import ERROR, FAIL, PASS
from kcbench.mutants.subject import as_kernel
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.score import score_here
from kcbench.tasks import load_task
from tests.chosen import ALL, CORE
from tests.tasks.forms import FORMS

EVERY = 29


@pytest.mark.slow
@pytest.mark.parametrize("name", [task for task in ALL if task not in CORE and not task.startswith("level3/")][::EVERY])
def test_no_gate_refuses_the_model(name: str) -> None:
    assert_clean(name, as_kernel(load_task(name).code))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_nor_another_form_of_it(name: str) -> None:
    # Of the largest two, the gates that had refused them.
    gates = {"level3/043_mingpt_causal_attention": ("EXC-01",), "level4/mamba2_ssd": ("CMP-01", "CMP-03")}.get(name)
    assert_clean(name, FORMS[name], gates)


def assert_clean(name: str, source: str, gates: tuple[str, ...] | None = None) -> None:
    task = load_task(name)
    verdicts = score_here(source, task, TaskOracle(task, seed="honest"), gates=gates)
    assert [verdict for verdict in verdicts if verdict.status in (FAIL, ERROR)] == []
    assert sum(verdict.status == PASS for verdict in verdicts) >= (4 if gates is None else len(gates))
