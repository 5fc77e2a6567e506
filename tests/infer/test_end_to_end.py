"""Kernels for problems that kcbench has never seen: the problem's own model is not refused, and subtly wrong ones are."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcbench.domain.result import Result
from kcbench.domain.task import Task
from kcbench.domain.verdict import ERROR, FAIL, NOT_APPLICABLE, PASS
from kcbench.engine import Options, Scorer, evaluate
from kcbench.gates import gate_ids
from kcbench.infer import task_of_problem
from tests.infer import problems

PROBLEMS = {**problems.ALL, "pinned": problems.PINNED, "log softmax": problems.LOG_SOFTMAX, "linear total": problems.LINEAR_TOTAL}
CROSS = ("predictions", "targets")
HONEST = "class ModelNew(Model):\n    pass\n"


def wrong(forward: str, arguments: str = "x", *, before: str = "") -> str:
    """The problem's model with another forward, in which ``right`` is the right answer."""
    lines = "".join(f"        {line}\n" for line in forward.splitlines())
    return f"{before}\nclass ModelNew(Model):\n    def forward(self, {arguments}):\n        right = super().forward({arguments})\n{lines}"


class Bench:
    """Scores against inferred contracts, with one scorer for all tests."""

    def __init__(self, scorer: Scorer, cache: Path) -> None:
        self._scorer, self._cache = scorer, cache
        self.task = functools.cache(self._task)

    def _task(self, name: str) -> Task:
        return task_of_problem(PROBLEMS[name], task_id=f"level1/{name.replace(' ', '_')}", cache=self._cache)

    def __call__(self, name: str, submission: str) -> Result:
        return self._scorer.score(self.task(name), f"{PROBLEMS[name]}\n\n{submission}")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Scorer(seed="end to end", device="cpu") as scorer:
        yield Bench(scorer, tmp_path_factory.mktemp("cache"))


def told(result: Result) -> str:
    lines = [f"{verdict.gate} {verdict.status} {verdict.codes} {verdict.reason}" for verdict in result.verdicts]
    return "\n".join([result.status, result.reason, *lines])


@pytest.mark.parametrize("name", [name for name in problems.ALL if name != "lstm"])
def test_the_problems_own_model_is_not_refused(name: str, bench: Bench) -> None:
    result = bench(name, HONEST)
    assert result.status == "scored", told(result)
    assert not [verdict for verdict in result.verdicts if verdict.status in (FAIL, ERROR)], told(result)
    untestable = bench.task(name).contract.untestable
    for verdict in result.verdicts:
        if verdict.gate in untestable:
            assert (verdict.status, verdict.reason) == (NOT_APPLICABLE, f"not testable: {untestable[verdict.gate]}")
    if name not in ("dropout", "constant"):
        assert {verdict.gate for verdict in result.verdicts if verdict.status == PASS} >= {"GUARD", "CMP-01", "CMP-03", "ORD-02"}


WRONG = {
    "drops the bias": ("linear", wrong("return right - self.linear.bias"), {"CMP-01.value"}),
    "drops the added bias": ("conv", wrong("return torch.relu(self.conv(x))"), {"CMP-01.value"}),
    "drops the last row": ("matmul", wrong("return torch.matmul(A[:, :-1], B[:-1])", "A, B"), {"CMP-01.value"}),
    "wrong for odd sizes": ("softmax", wrong("return right * 1.01 if x.shape[1] % 2 and x.shape[1] > 2 else right"), {"CMP-03.shape"}),
    "wrong for one row": ("softmax", wrong("return right * 1.01 if x.shape[0] == 1 else right"), {"CMP-03.batch"}),
    "wrong for strided inputs": ("sum", wrong("return right if x.is_contiguous() else right * 1.01"), {"CMP-03.stride"}),
    "cleans NaN": ("softmax", wrong("return torch.nan_to_num(right)"), {"EXC-01"}),
    "cleans NaN of a product": ("matmul", wrong("return torch.nan_to_num(right)", "A, B"), {"EXC-01"}),
    "is blind": ("softmax", wrong("return torch.full_like(x, 1 / x.shape[1])"), {"CMP-01.input-blind", "CMP-01.value"}),
    "is all zeros": ("matmul", wrong("return torch.zeros_like(right)", "A, B"), {"CMP-01.zeros"}),
    "sums in float16": ("matmul", wrong("return (A.half() @ B.half()).float()", "A, B"), {"PRC-01", "CMP-01"}),
    "narrows its operands": ("matmul", wrong("return A.bfloat16().float() @ B.bfloat16().float()", "A, B"), {"PRC-01"}),
    "swaps an axis of equal sizes": ("group norm", wrong("return right.transpose(-1, -2).contiguous()"), {"CMP-01.value"}),
    "skips the affine part": ("group norm", wrong("return F.group_norm(x, self.norm.num_groups)"), {"CMP-01.value"}),
    "normalises with frozen statistics": ("batch norm", wrong("return F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1]), self.norm.weight, self.norm.bias)"), {"CMP-01.value"}),
    "writes into its input": ("relu", wrong("return x.relu_()"), {"GUARD.mutates-input"}),
    "returns its input": ("scalar", wrong("return x.mul_(scale)", "x, scale"), {"GUARD"}),
    "ignores a target": ("cross entropy", wrong("return F.cross_entropy(predictions, targets.roll(1))", "predictions, targets"), {"CMP-01.value"}),
    "forgets the second output": ("tuple", wrong("return right[0], right[0]"), {"CMP-01.value"}),
    "returns one output": ("tuple", wrong("return right[0]"), {"CMP-01.value"}),
    "ignores a constant argument": ("scalar", wrong("return x * 3.0", "x, scale"), {"CMP-01.value"}),
    "fills the other triangle": ("triangular", wrong("return right.T.contiguous()", "A, B"), {"CMP-01.value"}),
    "flushes subnormals": ("relu", wrong("return torch.where(right.abs() < 1.2e-38, 0.0, right)"), {"EXC-02"}),
    "raises where it is not a multiple": ("sum", wrong("assert x.shape[1] % 2 == 0\nreturn right"), {"CMP-03.crash"}),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_subtly_wrong_kernel_is_refused_with_its_code(fault: str, bench: Bench) -> None:
    name, submission, codes = WRONG[fault]
    result = bench(name, submission)
    assert result.status == "scored", told(result)
    assert any(code == wanted or code.startswith(f"{wanted}.") for code in result.codes for wanted in codes), told(result)


def test_a_problem_of_one_size(bench: Bench) -> None:
    result = bench("pinned", HONEST)
    assert result.status == "scored" and not result.codes, told(result)
    assert {verdict.gate for verdict in result.verdicts if verdict.status == PASS} >= {"GUARD", "CMP-01", "CMP-02", "ORD-02"}
    assert not any(axis.varies for axis in bench.task("pinned").contract.axes.values())
    broken = bench("pinned", wrong("return right * 20 / (batch + 3)"))
    assert "CMP-01.value" in broken.codes, told(broken)


def test_on_a_problem_that_cannot_tell_nothing_is_claimed(bench: Bench) -> None:
    result = bench("constant", wrong("return torch.zeros_like(right)"))
    (verdict,) = (verdict for verdict in result.verdicts if verdict.gate == "CMP-01")
    assert verdict.status == NOT_APPLICABLE and verdict.reason.startswith("not testable: the output does not depend")


def test_one_call_scores_a_kernel(bench: Bench) -> None:
    """As a program uses kcbench: a task of a problem, and evaluate."""
    task = bench.task("linear")
    source = f"{problems.LINEAR}\n\n{wrong('return F.linear(x, self.linear.weight)')}"
    result = evaluate(task, source, seed="7", device="cpu")
    assert result.status == "scored" and "CMP-01.value" in result.codes
    assert result.task == "level1/linear"


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_a_gradient_may_go_through_the_shift(seed: str, bench: Bench) -> None:
    """As autograd does where log-softmax is spelled out; seed b is one on which it was refused."""
    task, options = bench.task("log softmax"), Options(seed=seed, device="cpu", gates=("CMP-02",), legacy=())
    shift = "shifted = x - x.max(1, keepdim=True)[0]\n"
    spelled = wrong(shift + "return shifted - shifted.exp().sum(1, keepdim=True).log()")
    honest = evaluate(task, f"{problems.LOG_SOFTMAX}\n\n{spelled}", options=options)
    assert honest.clean, told(honest)
    cut = wrong(shift + "return shifted - shifted.exp().sum(1, keepdim=True).log().detach()")
    assert "CMP-02.vjp" in evaluate(task, f"{problems.LOG_SOFTMAX}\n\n{cut}", options=options).codes


def test_a_cross_entropy_may_know_infinities(bench: Bench) -> None:
    forward = wrong(
        "return (torch.logsumexp({0}, 1) - {0}.gather(1, {1}[:, None])[:, 0]).mean()".format(*CROSS), ", ".join(CROSS)
    )
    honest = bench("cross entropy", forward)
    assert honest.clean, told(honest)
    shown = wrong("return right.nan_to_num()", ", ".join(CROSS))
    assert "EXC-01.absorbed" in bench("cross entropy", shown).codes


def test_weights_may_be_added_up_before_the_product(bench: Bench) -> None:
    summed = "weight, bias = self.linear.weight.sum(0), self.linear.bias.sum()\n"
    honest = bench("linear total", wrong(summed + "return x @ weight + bias"))
    assert honest.clean, told(honest)
    broken = bench("linear total", wrong(summed + "return x.nan_to_num() @ weight + bias"))
    assert "EXC-01.absorbed" in broken.codes, told(broken)


@pytest.mark.slow
def test_a_recurrence(bench: Bench) -> None:
    task = bench.task("lstm")
    assert {"CMP-01", "CMP-02", "CMP-03", "PRC-01", "EXC-01"} <= set(task.contract.applicable(gate_ids()))
    assert task.category == "recurrence"
    honest = bench("lstm", HONEST)
    assert not honest.codes, told(honest)
    states = "torch.ones(self.layers, x.size(0), self.width)"
    broken = bench("lstm", wrong(f"return self.head(self.lstm(x, ({states}, {states}))[0][:, -1])"))
    assert "CMP-01.value" in broken.codes, told(broken)
