"""Flushing subnormal numbers, and losing small numbers of every kind."""

from __future__ import annotations

import pytest

from kcbench.domain.task import Task
from kcbench.domain.verdict import FAIL, NOT_APPLICABLE, PASS, Verdict
from kcbench.oracle.oracle import TaskOracle
from kcbench.study.score import score_here
from tests.oracle.tasks import made

SINGLE = made("return torch.nn.functional.elu(x)")
ELU = made("return torch.nn.functional.elu(x)", dtypes=["float32", "bfloat16", "float16"])
LEAST = "torch.finfo(x.dtype).smallest_normal"


def verdict(task: Task, forward: str, seed: str = "exc02") -> Verdict:
    source = f"import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        {forward}\n"
    [found] = score_here(source, task, TaskOracle(task, seed=seed), gates=("EXC-02",))
    return found


@pytest.mark.parametrize(
    "forward",
    [
        "return torch.where(x > 0, x, torch.expm1(x.float()).to(x.dtype))",
        "return torch.where(x > 0, x, (x.float().exp() - 1).to(x.dtype))",
    ],
)
def test_few_digits_are_no_flush(forward: str) -> None:
    for seed in "abcdefgh":
        assert verdict(ELU, forward, seed).status == PASS, seed


@pytest.mark.parametrize("least", [LEAST, "1e-30", "1e-12", "1e-8", "1e-6"])
def test_a_flush_is_one_wherever_its_border_lies(least: str) -> None:
    found = verdict(ELU, f"return torch.nn.functional.elu(torch.where(x.abs() < {least}, 0.0, x))")
    assert found.status == FAIL and found.codes == ("EXC-02.flushed",)


def test_half_a_flush_is_inconsistent() -> None:
    found = verdict(ELU, f"return torch.nn.functional.elu(torch.where((x > 0) & (x < {LEAST}), 0.0, x))")
    assert found.codes == ("EXC-02.inconsistent",)


def test_where_all_small_numbers_are_lost_nothing_is_said() -> None:
    found = verdict(SINGLE, "return torch.where(x > 0, x + 1 - 1, x.exp() - 1)")
    assert found.status == NOT_APPLICABLE and "small normal numbers are lost as well" in found.reason
