"""From a problem to a contract that holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kcbench.domain.check import contract_problems
from kcbench.domain.contract import Contract
from kcbench.domain.schema import validate
from kcbench.engine import Options, evaluate
from kcbench.errors import KcbenchError
from kcbench.gates import gate_ids
from kcbench.infer import CannotShrinkError, Inference, infer
from kcbench.infer.selfcheck import VALUE_GATES, trial
from kcbench.oracle.oracle import TaskOracle
from tests.infer import problems
from tests.infer.problems import forward, layers, problem

QUICK = [name for name in problems.ALL if name != "lstm"]
"""The others: one evaluation of a recurrence with its noise takes long."""


@pytest.mark.parametrize("name", QUICK)
def test_the_contract_is_valid(name: str, inferences: Callable[[str], Inference]) -> None:
    found = inferences(problems.ALL[name])
    data = dict(found.task.contract.raw)
    validate(data, "contract", source=name)
    assert list(contract_problems(data)) == []
    assert Contract.from_json(data) == found.task.contract
    assert set(data["untestable"]) <= set(gate_ids()) and set(found.applicable) <= set(gate_ids())
    assert not set(data["untestable"]) & set(found.applicable)
    assert {"GUARD", "RES-01", "RES-02"} <= set(found.applicable)


@pytest.mark.parametrize("name", [name for name in QUICK if name not in ("dropout", "constant")])
def test_the_gates_that_matter_apply(name: str, inferences: Callable[[str], Inference]) -> None:
    found = inferences(problems.ALL[name])
    # What has a structure is not poisoned.
    poisoned = {"EXC-01"} if name != "triangular" else set()
    assert {"CMP-01", "CMP-03", "PRC-01", "ORD-02"} | poisoned <= set(found.applicable), found.task.contract.untestable


@pytest.mark.parametrize(
    ("name", "gates"),
    [
        ("matmul", {"CMP-02", "ORD-01", "ORD-03", "PRC-02", "EXC-02"}),
        ("linear", {"CMP-02", "ORD-01", "ORD-03", "PRC-02", "EXC-02"}),
        ("sum", {"CMP-02", "ORD-01", "ORD-03", "PRC-02", "EXC-02"}),
        ("softmax", {"CMP-02", "ORD-01", "ORD-03"}),
        ("conv", {"CMP-02", "ORD-01", "ORD-03"}),
        ("cross entropy", {"CMP-02"}),
    ],
)
def test_what_else_applies(name: str, gates: set[str], inferences: Callable[[str], Inference]) -> None:
    found = inferences(problems.ALL[name])
    assert gates <= set(found.applicable)


def test_of_a_model_that_draws_no_exact_value_is_asked(inferences: Callable[[str], Inference]) -> None:
    found = inferences(problems.DROPOUT)
    for gate in ("ORD-01", "ORD-02", "ORD-03", "PRC-01", "PRC-02", "EXC-01", "EXC-02", "CMP-02"):
        assert found.task.contract.untestable[gate].startswith("the model draws random numbers in forward")
    assert not found.task.contract.deterministic


def test_of_a_model_that_counts_its_calls_no_value_is_asked() -> None:
    model = layers("self.calls = 0", "self.step(x)") + "\n\ndef step(self, x):\n    self.calls += 1\n    return x + self.calls"
    found = infer(problem(model, "return [torch.rand(40, 300)]"), task_id="level1/x", name="x")
    assert set(found.applicable) == {"GUARD", "RES-01", "RES-02"}
    assert "keeps a state" in found.task.contract.untestable["CMP-01"]


def test_a_constant_output_is_said_to_be_one(inferences: Callable[[str], Inference]) -> None:
    untestable = inferences(problems.CONSTANT).task.contract.untestable
    assert untestable["CMP-01"] == "the output does not depend on the inputs, so that any kernel that knows it is right"


def test_a_clause_that_is_missing_has_its_reason(inferences: Callable[[str], Inference]) -> None:
    contract = inferences(problems.RELU).task.contract
    assert contract.reduction is None and {"ORD-01", "ORD-03", "PRC-02"} <= contract.reasons.keys()
    contract = inferences(problems.TRIANGULAR).task.contract
    assert contract.gradient is None and contract.reasons["CMP-02"] == "nothing to differentiate by"


def test_inputs_on_which_the_model_is_useless_are_not_redrawn() -> None:
    """On ordinary numbers the sine of so large an angle is noise; on the problem's own it is not."""
    code = problem(
        forward("torch.sin(x * 1e20)"), "return [torch.rand(batch, width) * 1e-20]", constants="batch = 64\nwidth = 96"
    )
    found = infer(code, task_id="level1/sine", name="sine")
    assert "CMP-01" in found.applicable
    (item,) = found.task.contract.inputs
    assert (item.domain, item.recipe) == ("recipe", {"kind": "problem"})


def test_counts_of_groups_are_kept_in_step_with_what_they_divide(inferences: Callable[[str], Inference]) -> None:
    axes = inferences(problems.GROUP_NORM).task.contract.axes
    assert axes["channels"].multiple_of == 8 or not axes["channels"].varies


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("def", KcbenchError, "cannot be parsed"),
        (problem(forward("x"), "return []"), KcbenchError, "get_inputs returns no tensor"),
        (problem(forward("x", "x, y"), "return [torch.rand(3), 'mean']"), ValueError, "neither a tensor nor a number"),
        (problem(forward("{'a': x}"), "return [torch.rand(3)]"), ValueError, "the model returns a dict, not a tensor"),
        (problem(forward("float(x.sum())"), "return [torch.rand(3)]"), ValueError, "the model returns a float, not a tensor"),
        (problem(forward("missing"), "return [torch.rand(2000, 2000)]"), CannotShrinkError, "NameError"),
    ],
)
def test_what_cannot_be_inferred_is_told(code: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        infer(code, task_id="level1/x", name="x")


@pytest.mark.slow
@pytest.mark.parametrize("drop", ["nn.functional.dropout(x, 0.01)", "x * (torch.rand_like(x) > 0.01)"])
def test_a_model_that_rare_draws_move_is_not_judged_by_its_spread(drop: str) -> None:
    # One output in ten jumps, and its neighbours do not move at all.
    code = problem(forward(f"({drop}).sum(1)"), "return [torch.rand(12, 9)]")
    task = infer(code, task_id="level1/rare", name="rare").task
    assert "jumps with them" in task.contract.untestable["CMP-01"]
    own = code + "\n\nclass ModelNew(Model):\n    pass\n"
    for seed in range(4):
        result = evaluate(task, own, options=Options(seed=str(seed), legacy=(), gates=("GUARD", "CMP-01", "CMP-03")))
        assert not result.refused, result.codes


@pytest.mark.slow
@pytest.mark.study
def test_a_model_with_smooth_draws_is_judged_by_its_spread() -> None:
    code = problem(forward("x @ x.t() + 0.01 * torch.randn(x.shape[0], x.shape[0])"), "return [torch.rand(12, 9)]")
    task = infer(code, task_id="level1/smooth", name="smooth").task
    assert task.contract.random and not {"CMP-01", "CMP-03"} & set(task.contract.untestable)
    options = Options(seed="0", legacy=(), gates=("GUARD", "CMP-01", "CMP-03"))
    for model, refused in (("super().forward(x)", False), ("torch.zeros(len(x), len(x))", True), ("x @ x.t() * 1.5", True)):
        own = code + f"\n\nclass ModelNew(Model):\n    def forward(self, x):\n        return {model}\n"
        assert evaluate(task, own, options=options).refused is refused, model


def test_a_gate_for_which_no_time_was_left_is_not_applied(inferences: Callable[[str], Inference]) -> None:
    found = trial(TaskOracle(inferences(problems.MATMUL).task, seed="infer"), seconds=0.0)
    assert not found.eager
    assert dict(found.untestable()) == dict.fromkeys(VALUE_GATES, "there was no time to try it")


def test_the_same_problem_gives_the_same_contract() -> None:
    first, second = (infer(problems.SUM, task_id="level1/sum", name="sum").task.contract.raw for _ in range(2))
    assert first == second


@pytest.mark.parametrize("layer", ["nn.LazyLinear(4)"])
def test_lazy_layers(layer: str) -> None:
    """Parameters that take shape in the first call cannot be redrawn; the problem is refused in one line, not with a crash."""
    code = problem(layers(f"self.f = {layer}", "self.f(x)"), "return [torch.rand(8, 6)]")
    with pytest.raises((KcbenchError, CannotShrinkError, ValueError)):
        infer(code, task_id="level1/x", name="x")
