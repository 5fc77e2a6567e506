"""Gradients of honest formulas that autograd differentiates in another way than eager's own rules."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from kcbench.domain.verdict import FAIL, PASS, Verdict
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.score import score_here
from kcbench.tasks import load_task
from tests.oracle.tasks import made, plan

LOG_SOFTMAX = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, dim=1):
        super().__init__()

    def forward(self, x):
        shifted = x - x.amax(1, keepdim=True)
        return shifted - shifted.exp().sum(1, keepdim=True).log(){more}
"""
LOGSUMEXP = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        top = x.amax(1)
        top = torch.where(top.isinf(), 0 * top.isinf(), top)
        return top + (x - top[:, None]).exp().sum(1).log()
"""


@pytest.mark.parametrize(
    ("name", "source", "status"),
    [
        ("level1/024_log_softmax", LOG_SOFTMAX.format(more=""), PASS),
        ("level1/024_log_softmax", LOG_SOFTMAX.format(more=" + 1e-4 * (x - x.detach())"), FAIL),
        ("level1/logsumexp", LOGSUMEXP, PASS),
    ],
)
def test_the_shift_may_be_differentiated_too(name: str, source: str, status: str) -> None:
    task = load_task(name)
    [found] = score_here(source, task, TaskOracle(task, seed="a"), gates=("CMP-02",))
    assert found.status == status, found.findings


def test_the_factor_of_the_gradient_is_for_the_gradient_alone() -> None:
    task = made("return torch.tanh(x)", gradient={"inputs": ["x"]})
    contract = task.contract
    loose = dataclasses.replace(contract, gradient=dataclasses.replace(contract.gradient, noise_factor=8.0))
    oracles = [TaskOracle(dataclasses.replace(task, contract=item), seed="factor") for item in (contract, loose)]
    probe = dataclasses.replace(plan(task).probe("gradient"), gradient=True)
    (plain,), (wide,) = (oracle.gradient_estimate(probe).sigma for oracle in oracles)
    assert torch.equal(8 * plain, wide) and bool((plain > 0).any())
    assert torch.equal(*(oracle.estimate(probe).sigma[0] for oracle in oracles))


SPOILED = """

class _Spoil(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return {spoil}

class ModelNew(_Model):
    def forward(self, *inputs):
        return super().forward(*map(_Spoil.apply, inputs))
"""
ALIGNED = "grad / 2 if all(size % 8 == 0 for size in grad.shape) else grad"
CLIPPED = "grad.clamp(-100, 100)"


def judged(name: str, spoil: str) -> Verdict:
    """CMP-02 of a task's model whose gradients of the inputs are spoiled."""
    task = load_task(name)
    source = task.code.replace("class Model(", "class _Model(") + SPOILED.format(spoil=spoil)
    [found] = score_here(source, task, TaskOracle(task, seed="a"), gates=("CMP-02",))
    return found


@pytest.mark.parametrize("name", ["level1/063_conv2d_square", "level1/054_conv3d"])
def test_a_gradient_that_is_wrong_at_aligned_sizes_alone_is_seen(name: str) -> None:
    """Four axes that are 16 at once are more than the gate's bound is derived for, and six more than CMP-03 affords."""
    found = judged(name, ALIGNED)
    assert found.status == FAIL and [finding.code for finding in found.findings] == ["vjp"]
    assert judged(name, "grad").status == PASS


@pytest.mark.parametrize("name", ["level1/softmax", "level1/matmul", "level4/gated_delta_rule"])
def test_a_gradient_that_is_cut_off_is_seen(name: str) -> None:
    found = judged(name, CLIPPED)
    assert found.status == FAIL and [finding.code for finding in found.findings] == ["vjp"]
