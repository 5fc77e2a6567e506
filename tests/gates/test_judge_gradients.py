"""What CMP-02 says of gradients that are wrong, missing or merely moved."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from kcbench.domain.contract import Gradient
from kcbench.domain.observation import Observation, Raised
from kcbench.domain.verdict import FAIL, NOT_APPLICABLE, PASS, Verdict
from kcbench.gates import JudgeContext, PlanContext, cmp02
from kcbench.numerics.formats import decode
from kcbench.oracle.eager import record


@pytest.mark.parametrize("offered", [True, False])
def test_a_contract_that_asks_for_gradients_of_parameters_alone(oracles, offered) -> None:
    oracle = oracles("level1/layernorm")
    contract = dataclasses.replace(oracle.task.contract, gradient=Gradient((), ("norm.weight",)))
    plan = PlanContext(contract)
    probes = [probe for probe in cmp02.GATE.plan(plan) if probe.gradient]
    mine = type(oracle)(dataclasses.replace(oracle.task, contract=contract), seed="tests")
    seen = {probe.id: mine.eager(probe) for probe in probes}
    if not offered:
        seen = {name: dataclasses.replace(item, gradients=dict.fromkeys(item.gradients)) for name, item in seen.items()}
    verdict = cmp02.GATE.judge(JudgeContext(plan, seen, mine, {probe.id: probe for probe in probes}), probes)
    assert verdict.status == (PASS if offered else NOT_APPLICABLE), verdict


@pytest.mark.parametrize(("redraw", "status"), [(True, FAIL), (False, PASS)])
def test_a_parameter_that_is_not_in_the_answer(oracles, redraw, status) -> None:
    """It is owed by a kernel that has all of the task's names; another one may call it otherwise."""
    oracle = oracles("level1/layernorm")
    plan = PlanContext(oracle.task.contract, redraw=redraw)
    probes = cmp02.GATE.plan(plan)
    seen = {probe.id: oracle.eager(probe) for probe in probes}
    seen = {
        name: dataclasses.replace(item, gradients={key: value for key, value in item.gradients.items() if "bias" not in key})
        for name, item in seen.items()
    }
    assert cmp02.GATE.judge(JudgeContext(plan, seen, oracle, {probe.id: probe for probe in probes}), probes).status == status


@pytest.mark.parametrize(
    ("kind", "message", "status"),
    [
        ("RuntimeError", "Function RMSNormBackward returned an invalid gradient at index 1", FAIL),
        ("RuntimeError", "the backward kernel failed: misaligned address", FAIL),
        ("NotImplementedError", "write me", NOT_APPLICABLE),
        ("TypeError", "unsupported operand type(s) for *: 'Tensor' and 'module'", FAIL),
        ("TypeError", "'<' not supported between instances of 'Tensor' and 'module'", FAIL),
        ("RuntimeError", "backward is not supported", NOT_APPLICABLE),
        ("RuntimeError", "this kernel is forward-only", NOT_APPLICABLE),
    ],
)
def test_a_broken_backward_is_no_kernel_without_one(judge, kind, message, status) -> None:
    def raises(probe, inputs, outputs):
        return Observation(
            "ok",
            outputs=tuple(record(item) for item in outputs),
            structure="tensor",
            gradient_status="raised",
            raised=Raised(kind, message),
        )

    verdict = judge("CMP-02", "level1/rmsnorm", raises)
    assert verdict.status == status, verdict
    assert [finding.code for finding in verdict.findings] == (["missing"] if status == FAIL else [])


def with_gradients(oracle, change, probes=None) -> Verdict:
    """CMP-02's verdict on eager with its gradients changed: ``change(probe, name, gradient)``."""
    plan = PlanContext(oracle.task.contract)
    probes = cmp02.GATE.plan(plan) if probes is None else probes
    seen = {}
    for probe in probes:
        eager = oracle.eager(probe)
        changed = {name: record(change(probe, name, decode(item))) for name, item in eager.gradients.items()}
        seen[probe.id] = dataclasses.replace(eager, gradients=changed)
    return cmp02.GATE.judge(JudgeContext(plan, seen, oracle, {probe.id: probe for probe in probes}), probes)


def test_a_gradient_that_is_wrong_for_one_row_is_refused(oracles) -> None:
    verdict = with_gradients(oracles("level1/softmax"), lambda probe, _, g: 2 * g if probe.axes["batch_size"] == 1 else g)
    assert verdict.codes == ("CMP-02.vjp",)


def test_a_gradient_that_ends_beyond_a_block_is_refused(oracles) -> None:
    def cut(probe, name, gradient):
        return torch.cat([gradient[:, :200], torch.zeros_like(gradient[:, 200:])], dim=1)

    assert with_gradients(oracles("level1/cumsum"), cut).codes == ("CMP-02.vjp",)


def test_a_coarse_look_that_shows_nothing_is_no_check(oracles) -> None:
    oracle = oracles("level1/softmax")
    coarse = cmp02._coarse(PlanContext(oracle.task.contract), oracle.task.contract.gradient)
    assert coarse and with_gradients(oracle, lambda _probe, _name, g: g, coarse).status == NOT_APPLICABLE


@pytest.mark.parametrize(("share", "status"), [(3e-6, PASS), (3e-5, FAIL)])
def test_a_transform_may_move_the_gradient_of_a_convolution(oracles, share, status) -> None:
    """cuDNN's, for the weights of a transposed convolution, by 2e-6 of the largest one; tf32 moves it by a hundred times as much."""

    def moved(probe, name, gradient):
        gradient = gradient.clone()
        gradient.view(-1)[0] += share * gradient.abs().max()
        return gradient

    assert with_gradients(oracles("level1/conv2d"), moved).status == status
