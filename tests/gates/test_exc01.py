"""What a kernel owes a NaN: the results that follow from where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kcbench.domain.task import Task
from kcbench.domain.verdict import FAIL, PASS, Verdict
from kcbench.gates import JudgeContext, PlanContext
from kcbench.gates.compare import as_eager_in_float32
from kcbench.gates.dependence import dependent
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.score import score_here
from kcbench.tasks import load_task
from tests.oracle.tasks import PROBLEM, made

REDTEAM = Path(__file__).parents[2] / "kcbench/redteam"
TWO = [{"name": "x", "shape": ["rows", "width"]}, {"name": "y", "shape": ["rows", "width"]}]
PAIR = {"arguments": "x, y", "described": TWO, "inputs": "return [torch.rand(rows, width), torch.rand(rows, width)]"}
MASKED = made(
    "weights = (x @ x.t()).masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -float('inf')).softmax(1)\nreturn weights @ x"
)
GATED = made("return torch.relu(x) * y", **PAIR)
DEAD = made("return x * 0.0 + y", **PAIR)
CHOSEN = made(
    "return torch.cumsum(x * mask, 1)",
    arguments="x, mask",
    described=[TWO[0], {"name": "mask", "shape": ["rows", "width"], "kind": "given", "domain": "recipe", "recipe": PROBLEM}],
    inputs="return [torch.rand(rows, width), torch.arange(width).repeat(rows, 1) % 2 == 1]",
)
LARGEST = made("return x.max(dim=1).values + 0.0 * y.sum(1)", **PAIR)


def verdict(task: Task, forward: str, arguments: str = "x, y") -> Verdict:
    source = f"import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, {arguments}):\n        {forward}\n"
    [found] = score_here(source, task, TaskOracle(task, seed="exc01"), gates=("EXC-01",))
    return found


def test_a_causal_kernel_need_not_multiply_what_comes_later_with_zero() -> None:
    rows = "(x[i:i + 1] @ x[:i + 1].t()).softmax(1) @ x[:i + 1]"
    honest = verdict(MASKED, f"return torch.cat([{rows} for i in range(len(x))])", "x")
    assert honest.status == PASS
    absorbing = verdict(MASKED, f"x = x.nan_to_num()\n        return torch.cat([{rows} for i in range(len(x))])", "x")
    assert absorbing.codes == ("EXC-01.absorbed",)


def test_what_a_mask_leaves_out_may_be_left_out() -> None:
    assert verdict(CHOSEN, "return torch.cumsum(torch.where(mask, x, 0), 1)", "x, mask").status == PASS
    absorbing = verdict(CHOSEN, "return torch.cumsum(torch.where(mask, x, 0).nan_to_num(), 1)", "x, mask")
    assert absorbing.codes == ("EXC-01.absorbed",)


@pytest.mark.parametrize(
    ("task", "forward"),
    [
        # The factor happens to be zero: other inputs make it another number.
        (GATED, "return torch.where(x > 0, x * y, torch.where(x.isnan(), x, 0 * x))"),
        # Nothing follows from x, wherever it stands: what the formula says is all that there is to go by.
        (DEAD, "return y + 0.0"),
        (LARGEST, "return x.nan_to_num(-float('inf')).max(dim=1).values + 0.0 * y.sum(1)"),
    ],
)
def test_other_factors_of_zero_are_owed(task: Task, forward: str) -> None:
    found = verdict(task, forward)
    assert found.status == FAIL and "EXC-01.absorbed" in found.codes


def test_a_nan_of_the_inputs_is_no_infinity_even_where_more_is_allowed() -> None:
    loss = made("return torch.nn.functional.softplus(x).sum(1)", nonfinite="at_least")
    hidden = verdict(loss, "y = torch.logaddexp(x, 0 * x).sum(1); return torch.where(y.isnan(), torch.inf, y)", "x")
    assert hidden.codes == ("EXC-01.absorbed",)


def test_what_follows_from_an_element() -> None:
    def masks(task: Task, name: str, cell: list[int]) -> torch.Tensor:
        oracle = TaskOracle(task, seed="exc01")
        plan = PlanContext(task.contract)
        probe = plan.probe("any")
        asked = torch.ones(oracle.truth(probe)[0].shape, dtype=torch.bool)
        return dependent(JudgeContext(plan, {}, oracle), probe, name, cell, 0, asked)

    assert masks(MASKED, "x", [1, 0]).any(dim=1).tolist() == [False, True, True]
    assert masks(GATED, "y", [2, 3]).nonzero().tolist() == [[2, 3]]
    assert masks(DEAD, "x", [0, 0]).all()
    assert masks(DEAD, "y", [0, 0]).sum() == 1
    assert masks(LARGEST, "x", [1, 4]).tolist() == [False, True, False]


def test_the_decay_of_a_state_that_is_zero_need_not_be_applied() -> None:
    task = load_task("level4/gated_delta_rule")
    source = (REDTEAM / "honest/level4_gated_delta_rule/no_first_decay.py").read_text()
    [found] = score_here(source, task, TaskOracle(task, seed="exc01"), gates=("EXC-01",))
    assert found.status == PASS


QUIRK = made("return torch.where(x.isinf(), 0 * x, x) if x.dtype == torch.float32 else 2 * x / 2", dtypes=["float32", "float16"])
SMALL = made("return x * y", **PAIR, dtypes=["float32", "float16"])
LINEAR_GELU = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return F.gelu(F.linear(x.float(), self.linear.weight.float(), self.linear.bias.float())).to(x.dtype)
"""


def test_a_kernel_may_err_as_eager_does_in_float32() -> None:
    """Torch's GELU of infinity is NaN on some processors in float32, and right in float16."""
    wide = "y = x.float()\n        return torch.where(y.isinf(), 0 * y, y).to(x.dtype)"
    assert verdict(QUIRK, wide, "x").status == PASS
    assert verdict(QUIRK, "return torch.where(x.isnan(), 0, x)", "x").codes == ("EXC-01.absorbed",)
    assert verdict(QUIRK, "return torch.where(x.isinf(), 1.0, x.float()).to(x.dtype)", "x").codes == ("EXC-01.absorbed",)
    task = load_task("level2/linear_bias_gelu")
    [found] = score_here(LINEAR_GELU, task, TaskOracle(task, seed="exc01"), gates=("EXC-01",))
    assert found.status == PASS, found.findings


def test_eager_in_float32_sees_the_operands_that_the_kernel_saw() -> None:
    """What float16 rounds to zero is zero there too: zero times infinity is NaN, and no kernel may make an infinity of it."""
    oracle = TaskOracle(SMALL, seed="exc01")
    tiny, infinite = {"kind": "constant", "value": 1e-9}, {"kind": "constant", "value": float("inf")}
    probe = PlanContext(SMALL.contract).probe("any", dtype="float16", inputs={"x": tiny, "y": infinite})
    mine = torch.full(oracle.truth(probe)[0].shape, float("inf"), dtype=torch.float16)
    assert not as_eager_in_float32(oracle, probe, 0, mine).any()
    assert as_eager_in_float32(oracle, probe, 0, mine * 0).all()
