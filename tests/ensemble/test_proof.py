"""The proof: it lets honest variants through, and nothing that is planted."""

import dataclasses

import pytest

from kcbench.domain.verdict import ERROR, FAIL
from kcbench.ensemble import TORCH, Variant, all_variants, study_tasks
from kcbench.ensemble.proof import Proof
from kcbench.ensemble.proof import prove as prove_in
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.local import LocalSession
from kcbench.study.score import score_here
from kcbench.tasks import load_task

SEED = "proof"
SAMPLE = [next(v for v in all_variants() if v.task == task and v.language == TORCH) for task in study_tasks()]

MATMUL = """
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A, B):
        {body}
"""
ROWWISE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        {body}
"""
SUM = """
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, axis):
        super().__init__()
        self.axis = axis

    def forward(self, x):
        {body}
"""
NORM = """
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x):
        y = x.float()
        mean = y.mean(-1, keepdim=True)
        {body}
"""
PLANTED = {
    "half operands": ("level1/matmul", MATMUL, "return (A.half().float() @ B.half().float()).to(A.dtype)"),
    "bfloat16 accumulator": (
        "level1/matmul",
        MATMUL,
        "out = A.new_zeros(A.shape[0], B.shape[1]).bfloat16()\n"
        "        for k in range(A.shape[1]):\n"
        "            out = (out.float() + A[:, k, None].float() * B[k].float()).bfloat16()\n"
        "        return out.to(A.dtype)",
    ),
    "dropped tail": (
        "level1/matmul",
        MATMUL,
        "K = max(A.shape[1] // 16 * 16, 1)\n        return (A[:, :K].float() @ B[:K].float()).to(A.dtype)",
    ),
    "half accumulator": (
        "level1/sum_axis",
        SUM,
        "out = torch.zeros_like(x[:, :1]).half()\n"
        "        for row in x.split(1, dim=1):\n"
        "            out = (out.float() + row.float()).half()\n"
        "        return out.to(x.dtype)",
    ),
    "scan in half": (
        "level1/cumsum",
        SUM,
        "total, rows = torch.zeros_like(x[:, 0]).half(), []\n"
        "        for column in x.unbind(1):\n"
        "            total = (total.float() + column.float()).half()\n"
        "            rows.append(total)\n"
        "        return torch.stack(rows, dim=1).to(x.dtype)",
    ),
    "dropped NaN": ("level1/relu", ROWWISE, "return torch.where(x > 0, x, torch.zeros_like(x))"),
    "absorbed NaN": ("level1/softmax", ROWWISE, "return torch.softmax(x.nan_to_num(0.0).float(), dim=1).to(x.dtype)"),
    "tanh formula": ("level1/gelu", ROWWISE, 'return F.gelu(x, approximate="tanh")'),
    "unshifted": ("level1/softmax", ROWWISE, "e = x.float().exp()\n        return (e / e.sum(1, keepdim=True)).to(x.dtype)"),
    "unshifted logarithm": ("level1/logsumexp", ROWWISE, "return x.float().exp().sum(1).log().to(x.dtype)"),
    "one-pass variance": (
        "level1/layernorm",
        NORM,
        "variance = y.square().mean(-1, keepdim=True) - mean.square()\n"
        "        scaled = (y - mean) * torch.rsqrt(variance.clamp_min(0) + 1e-5)\n"
        "        return (scaled * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)",
    ),
    "unbiased variance": (
        "level1/layernorm",
        NORM,
        "scaled = (y - mean) * torch.rsqrt(y.var(-1, keepdim=True) + 1e-5)\n"
        "        return (scaled * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)",
    ),
    "dropped eps": (
        "level1/layernorm",
        NORM,
        "scaled = (y - mean) * torch.rsqrt((y - mean).square().mean(-1, keepdim=True) + 1e-12)\n"
        "        return (scaled * self.norm.weight.float() + self.norm.bias.float()).to(x.dtype)",
    ),
    "returns its input": ("level1/relu", ROWWISE, "return x.relu_()"),
    "wrong gradient": (
        "level1/relu",
        ROWWISE,
        "return torch.relu(x).detach() + 0.5 * (x - x.detach()).nan_to_num(0.0, 0.0, 0.0)",
    ),
    "no gradient": ("level1/gelu", ROWWISE, "return F.gelu(x.detach())"),
    "random": ("level1/gelu", ROWWISE, "return F.gelu(x) * (1 + 1e-9 * torch.rand(())) + 1e-7 * torch.randn(())"),
}


def prove(variant: Variant, oracle: TaskOracle, *, interpreted: bool = False) -> Proof:
    with LocalSession(variant.source, interpret=interpreted) as session:
        return prove_in(variant, session, oracle, interpreted=interpreted)


@pytest.fixture(scope="module")
def oracles():
    made = {}

    def oracle(task_id):
        if task_id not in made:
            made[task_id] = TaskOracle(load_task(task_id), seed=SEED)
        return made[task_id]

    return oracle


@pytest.mark.parametrize("variant", SAMPLE, ids=lambda variant: variant.task)
def test_the_first_variant_of_each_task_is_proven(variant, oracles):
    proof = prove(variant, oracles(variant.task))
    assert proof.faults == ()
    assert proof.worst <= 1


@pytest.mark.parametrize("task", ["level1/relu", "level1/softmax", "level1/sum_axis", "level1/matmul"])
def test_some_are_clean(task, oracles):
    variant = next(variant for variant in SAMPLE if variant.task == task)
    verdicts = score_here(variant.source, load_task(task), oracles(task))
    assert [verdict.codes or verdict.reason for verdict in verdicts if verdict.status in (FAIL, ERROR)] == []


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_not_proven(name, oracles):
    task, frame, body = PLANTED[name]
    variant = Variant(f"{task}/torch-planted", task, TORCH, frame.format(body=body), ("planted",))
    assert not prove(variant, oracles(task)).proven


def test_an_exception_is_a_fault(oracles):
    variant = dataclasses.replace(SAMPLE[0], source="raise RuntimeError('no')")
    assert prove(variant, oracles(variant.task)).faults == ("it raised RuntimeError: no",)


def test_a_triton_variant_is_proven_on_the_interpreter(oracles, monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    variant = next(variant for variant in all_variants() if variant.id == "level1/relu/triton-select-block128")
    assert prove(variant, oracles(variant.task), interpreted=True).proven
