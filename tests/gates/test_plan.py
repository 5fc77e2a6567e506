"""Every gate's plan, on every shipped task: probes are inside the contract and can be told apart."""

from __future__ import annotations

import json

import pytest

from kcbench.gates import PlanContext, all_gates, gate_ids
from kcbench.tasks import load_task
from tests.chosen import ALL

TWELVE = ("CMP-01", "CMP-02", "CMP-03", "ORD-01", "ORD-02", "ORD-03", "PRC-01", "PRC-02", "EXC-01", "EXC-02", "RES-01", "RES-02")


def test_there_are_twelve_gates_and_the_guard() -> None:
    assert gate_ids() == ("GUARD", *TWELVE)
    assert tuple(gate.id for gate in all_gates()) == gate_ids()


@pytest.mark.parametrize("task_id", ALL)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_probes_are_inside_the_contract(task_id, device) -> None:
    contract = load_task(task_id).contract
    for gate in all_gates():
        probes = list(gate.plan(PlanContext(contract, device)))
        assert len({probe.id for probe in probes}) == len(probes)
        for probe in probes:
            assert set(probe.inputs) == {item.name for item in contract.inputs}
            assert probe.dtype in contract.dtypes
            assert set(probe.axes) == set(contract.axes)
            json.dumps(probe.to_json(), allow_nan=False)


@pytest.mark.parametrize("task_id", ALL)
def test_a_contract_knows_which_gates_have_no_question(task_id) -> None:
    contract = load_task(task_id).contract
    for gate in all_gates():
        if gate.id not in contract.untestable and gate.id != "RES-02":  # which looks at launches, not at probes
            assert bool(contract.unasked(gate.id)) == (not list(gate.plan(PlanContext(contract, "cuda"))))


@pytest.mark.parametrize("task_id", ALL)
def test_cmp03_stays_in_the_shape_class(task_id) -> None:
    contract = load_task(task_id).contract
    gate = next(gate for gate in all_gates() if gate.id == "CMP-03")
    for probe in gate.plan(PlanContext(contract, "cpu")):
        for name, size in probe.axes.items():
            assert contract.axes[name].admits(size), (name, size)


def test_planning_is_deterministic() -> None:
    contract = load_task("level1/softmax").contract
    for gate in all_gates():
        once, twice = (list(gate.plan(PlanContext(contract, "cpu"))) for _ in range(2))
        assert once == twice
