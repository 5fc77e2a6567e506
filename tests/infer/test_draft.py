"""The first contract is complete, valid, and says what was measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kcbench.domain.check import contract_problems
from kcbench.domain.schema import validate
from kcbench.infer.draft import Draft, category, draft
from kcbench.infer.problem import Problem
from kcbench.infer.trace import trace
from tests.infer import problems
from tests.infer.problems import forward, problem


@pytest.mark.parametrize("name", problems.ALL)
def test_it_is_a_valid_contract(name: str, drafts: Callable[[str], Draft]) -> None:
    data = drafts(problems.ALL[name]).data
    validate(data, "contract", source=name)
    assert list(contract_problems(data)) == []
    assert data["provenance"] == "inferred"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul", "matmul"),
        ("softmax", "normalization"),
        ("relu", "activation"),
        ("sum", "reduction"),
        ("conv", "fused"),
        ("group norm", "normalization"),
        ("linear", "matmul"),
    ],
)
def test_categories(name: str, expected: str) -> None:
    made = Problem.parse(problems.ALL[name], name="problem")
    assert category(trace(made, {})) == expected


def test_only_convolutions_and_scans_may_spread_a_nan(drafts: Callable[[str], Draft]) -> None:
    assert drafts(problems.CONV).data["nonfinite"] == "at_least"
    assert drafts(problems.MATMUL).data["nonfinite"] == "exact"


def test_sizes_in_the_contract_are_told_apart(drafts: Callable[[str], Draft]) -> None:
    for code in (problems.MATMUL, problems.SOFTMAX, problems.SUM, problems.CONV):
        gates = [axis["gate"] for axis in drafts(code).data["axes"].values()]
        assert len(set(gates)) == len(gates)


def test_a_problem_without_sizes_has_one_axis_that_never_varies() -> None:
    code = problem(forward("x * 2.0"), "return [torch.rand(())]")
    assert draft(Problem.parse(code, name="p"), task_id="a/b").data["axes"] == {
        "unit_0": {"gate": 1, "legacy": 1, "varies": False}
    }


@pytest.mark.parametrize(
    ("constants", "inputs"),
    [
        ("batch = 4096\nsize = 64", "return [torch.rand(batch, size + 1).tril()]"),
        ("batch = 8192\nscale = 1000", "return [torch.rand(batch, 16) * scale]"),
    ],
)
def test_what_cannot_be_set_keeps_its_value(constants: str, inputs: str) -> None:
    made = draft(Problem.parse(problem(forward("x.sum(1)"), inputs, constants=constants), name="p"), task_id="a/b")
    assert made.data["axes"]["batch"]["gate"] < 512
    # The task's code is given the axes and nothing else.
    original = Problem.parse(made.problem.sites.code, name="p")
    sizes = {name: axis["gate"] for name, axis in made.data["axes"].items()}
    assert made.problem.interface(made.shrunk.gate)[0][0].shape == original.interface(sizes)[0][0].shape
