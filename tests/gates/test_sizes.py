"""Which sizes are affordable."""

from __future__ import annotations

import dataclasses
import math

import pytest

from kcbench.gates import PlanContext, all_gates
from kcbench.gates.sizes import BUDGET, ENOUGH, product_elements, stretched, tuned, varying_axes
from kcbench.oracle.module import task_module
from kcbench.tasks import load_task


@pytest.mark.parametrize(
    ("task_id", "sizes", "elements"),
    [
        ("level1/matmul", {"M": 300, "K": 5, "N": 200}, 60_000),
        ("level1/batched_matmul", {"batch_size": 7, "M": 11, "K": 5, "N": 13}, 7 * 11 * 13),
        ("level1/009_matmul_tall_skinny", {"M": 1000, "N": 1}, 1_000_000),
        ("level1/softmax", {"batch_size": 1000, "dim": 1000}, 1),
    ],
)
def test_a_product_may_be_larger_than_its_operands(task_id: str, sizes: dict[str, int], elements: int) -> None:
    assert product_elements(load_task(task_id).contract, sizes) == elements


def test_a_column_times_a_row_is_not_stretched_to_a_square_that_fills_the_memory() -> None:
    task = load_task("level1/009_matmul_tall_skinny")
    full = {name: getattr(task_module(task, None), name) for name in task.contract.axes}
    assert full["M"] == 32768
    plan = PlanContext(task.contract, full_sizes=full)
    probes = [probe for gate in all_gates() for probe in gate.plan(plan)]
    assert max(probe.axes["M"] for probe in probes) < 2000
    assert all(product_elements(task.contract, probe.axes) <= 8 * BUDGET for probe in probes)
    assert stretched(plan, "M", 32768) == {}


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("task_id", ["level1/relu", "level1/matmul", "level1/conv2d", "level1/maxpool2d", "level1/softmax"])
def test_what_lies_at_the_end_of_a_long_axis_is_more_than_one_element(task_id: str, interpreted: bool) -> None:
    """One element that was left out shows in half of all draws where negative values become zero."""
    plan = PlanContext(load_task(task_id).contract, interpreted=interpreted)
    for name in varying_axes(plan.contract):
        for sizes in tuned(plan, name):
            whole = plan.contract.sizes(**sizes)
            assert math.prod(whole[other] for other in varying_axes(plan.contract) if other != name) >= ENOUGH, sizes


def test_an_axis_that_is_always_small_stays_small_beside_a_long_one() -> None:
    contract = load_task("level1/conv2d").contract
    axes = {
        **contract.axes,
        "in_channels": dataclasses.replace(contract.axes["in_channels"], gate=2, legacy=2, minimum=1, maximum=2),
    }
    plan = PlanContext(dataclasses.replace(contract, axes=axes))
    assert {sizes["in_channels"] for sizes in tuned(plan, "height")} == {2}
