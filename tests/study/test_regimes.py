"""Narrow accumulators at given lengths, and tf32 under both regimes: every such mutant of every linear task."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from kcbench.domain.task import Task
from kcbench.domain.verdict import ERROR, FAIL
from kcbench.mutants.planted import Planted, plant
from kcbench.mutants.witness import Bench
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.score import score_here
from kcbench.tasks import load_task

pytestmark = pytest.mark.slow


def first_in_ci(names: Iterable[str]) -> list[Any]:
    """The first task for CI; the others take minutes."""
    return [pytest.param(name, marks=[pytest.mark.study] if place else []) for place, name in enumerate(names)]


REDUCED = {
    "level1/matmul": ("K", 1),
    "level1/sum_axis": ("dim1", 1),
    "level1/cumsum": ("dim", 1),
    "level1/conv2d": ("in_channels", 9),
    "level2/linear_bias_gelu": ("in_features", 1),
}
"""The axis that is added up over, by task, and how many terms one step of it brings. The last task's function is not linear; its
sum is."""
PRODUCTS = ("level1/matmul", "level1/batched_matmul", "level1/conv2d", "level2/linear_bias_gelu")
GATES = ("CMP-01", "PRC-01")
"""Those that see most of them: the others are asked only about what passes these."""
NARROWED = ("inputs are rounded to tf32", "operand-narrowed")


def of_length(task: Task, axis: str, length: int) -> Task:
    """A task whose sum has one length, with no probe that was designed for another, and little beside it."""
    contract = task.contract
    small = {name: dataclasses.replace(item, gate=5, legacy=7, maximum=9) for name, item in contract.axes.items() if item.varies}
    axes = {**contract.axes, **small}
    axes[axis] = dataclasses.replace(axes[axis], gate=length, legacy=length, maximum=None, values=(length,), varies=False)
    designed = tuple(item for item in contract.designed if not item.axes)
    return dataclasses.replace(task, contract=dataclasses.replace(contract, axes=axes, designed=designed))


class Judge:
    """Asks the gates about mutants of one task, and looks for a witness where they let one pass."""

    def __init__(self, task: Task) -> None:
        self._task, self._oracle = task, TaskOracle(task, seed="regimes")

    def codes(self, item: Planted, gates: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """What a mutant is refused for, first of all."""
        found = score_here(item.mutant.source, self._task, self._oracle, gates=gates, until_refused=True)
        assert not any(verdict.status == ERROR for verdict in found), found
        return next((verdict.codes for verdict in found if verdict.status == FAIL), ())

    def refused(self, planted: list[Planted]) -> list[Planted]:
        """Those that the gates for narrow sums refuse."""
        return [item for item in planted if self.codes(item, GATES)]

    def overlooked(self, planted: list[Planted]) -> list[str]:
        """Those that pass all gates although they are faulty. Some hold a single partial sum, or are not narrowed at all."""
        passed = [item for item in planted if not self.codes(item)]
        benches = ((item, Bench(item.subject.source, self._task, self._oracle)) for item in passed)
        return [item.id for item, bench in benches if bench.find_witness(item.mutant.source) is not None]


@pytest.mark.parametrize("name", first_in_ci(REDUCED))
def test_every_narrow_accumulator_is_refused(name: str) -> None:
    task = load_task(name)
    planted = [item for item in plant([name], language="torch", faults=("precision",)) if item.mutant.operator == "accumulator"]
    axis, terms = REDUCED[name]
    for length in (64, 512):
        judge = Judge(of_length(task, axis, round(length / terms)))
        narrow = judge.refused(planted)
        assert narrow and judge.overlooked([item for item in planted if item not in narrow]) == []
    # What is narrow at 512 is narrow at 4096, and whatever is not takes minutes there.
    assert Judge(of_length(task, axis, round(4096 / terms))).refused(narrow) == narrow


@pytest.mark.parametrize("name", first_in_ci(PRODUCTS))
def test_tf32_is_refused_under_ieee_and_passes_under_tf32(name: str) -> None:
    task = load_task(name)
    planted = [
        item
        for item in plant([name], language="torch", faults=("precision",))
        if "tf32" in item.mutant.description and (item.mutant.description in NARROWED or item.mutant.operator in NARROWED)
    ]
    judge = Judge(task)
    passed = [item for item in planted if not judge.codes(item)]
    # float64 operands are not rounded at all.
    assert len(planted) - len(passed) >= 5 and judge.overlooked(passed) == []
    relaxed = Judge(dataclasses.replace(task, contract=dataclasses.replace(task.contract, precision="tf32")))
    # Where the bias is a column of the weights it is rounded with them, which is more than a product in tf32.
    products = [item for item in planted if not item.subject.id.endswith("bias_as_column")]
    assert {item.id: codes for item in products if (codes := relaxed.codes(item))} == {}
