"""What a model does at some sizes is known without doing it."""

from __future__ import annotations

import pytest

from kcbench.infer.problem import Problem
from kcbench.infer.trace import TooSlow, Trace, degradations, trace
from tests.infer import problems
from tests.infer.problems import forward, layers, problem


def traced(code: str, sizes: dict[str, int] | None = None, *, real: bool = False) -> Trace:
    return trace(Problem.parse(code, name="problem"), sizes or {}, real=real)


def lengths(model: str, inputs: str, init: str = "[]") -> list[tuple[str, int]]:
    return list(traced(problem(model, inputs, init=init)).lengths)


@pytest.mark.parametrize(
    ("model", "inputs", "expected"),
    [
        (forward("a @ b", "a, b"), "return [torch.rand(3, 5), torch.rand(5, 7)]", [("mm", 5)]),
        (forward("a @ b", "a, b"), "return [torch.rand(2, 3, 5), torch.rand(2, 5, 7)]", [("bmm", 5)]),
        (layers("self.f = nn.Linear(6, 4)", "self.f(x)"), "return [torch.rand(3, 6)]", [("addmm", 6)]),
        (forward("x.sum(1)"), "return [torch.rand(3, 5, 7)]", [("sum", 5)]),
        (forward("x.mean()"), "return [torch.rand(3, 5)]", [("mean", 15)]),
        (forward("torch.softmax(x, 1)"), "return [torch.rand(3, 5)]", [("_softmax", 5)]),
        (forward("x.cumsum(0)"), "return [torch.rand(3, 5)]", [("cumsum", 3)]),
        (forward("torch.logsumexp(x, (0, 2)).amax()"), "return [torch.rand(3, 5, 2)]", [("logsumexp", 6), ("amax", 5)]),
        (layers("self.f = nn.Conv2d(4, 6, 3)", "self.f(x)"), "return [torch.rand(2, 4, 8, 8)]", [("convolution", 36)]),
        (layers("self.f = nn.LayerNorm((4, 5))", "self.f(x)"), "return [torch.rand(2, 4, 5)]", [("native_layer_norm", 20)]),
        (layers("self.f = nn.GroupNorm(2, 6)", "self.f(x)"), "return [torch.rand(2, 6, 5)]", [("native_group_norm", 15)]),
        (layers("self.f = nn.BatchNorm1d(6)", "self.f(x)"), "return [torch.rand(4, 6, 5)]", [("native_batch_norm", 20)]),
        (forward("torch.relu(x) + 1"), "return [torch.rand(4, 6)]", []),
    ],
)
def test_lengths_of_sums(model: str, inputs: str, expected: list[tuple[str, int]]) -> None:
    assert lengths(model, inputs) == expected


def test_cost_is_that_of_the_multiplications() -> None:
    seen = traced(problems.MATMUL, {"rows": 3, "inner": 5, "columns": 7})
    assert (seen.cost, seen.elements, seen.outputs) == (105, 3 * 5 + 5 * 7 + 3 * 7, ((3, 7),))
    assert traced(problems.CONV, {"batch": 1, "height": 8, "width": 9}).cost >= 64 * 6 * 7 * 12 * 9


@pytest.mark.parametrize("name", ["matmul", "softmax", "linear", "conv", "group norm", "batch norm", "cross entropy", "tuple"])
def test_the_meta_device_tells_the_operations_of_a_real_run(name: str) -> None:
    made = Problem.parse(problems.ALL[name], name="problem")
    sizes = {size: min(value, 16) for size, value in made.constants.items()}
    meta, real = trace(made, sizes), trace(made, sizes, real=True)
    assert (meta.kinds, meta.lengths, meta.outputs, meta.cost) == (real.kinds, real.lengths, real.outputs, real.cost)


def test_a_trace_ends_in_time() -> None:
    with pytest.raises(TooSlow):
        trace(Problem.parse(problems.MATMUL, name="problem"), {}, seconds=-1)


@pytest.mark.parametrize(
    ("model", "inputs", "small", "reason"),
    [
        (forward("x.sum(1)"), "return [torch.rand(4, 64)]", (4, 4), "sum is left with 4 values of 64"),
        (forward("x.sum(1)"), "return [torch.rand(4, 64)]", (4, 8), ""),
        (forward("x.sum(1)"), "return [torch.rand(4, 6)]", (4, 6), ""),
        (forward("torch.relu(x)"), "return [torch.rand(4, 64)]", (4, 1), "a dimension collapses to 1"),
        (
            forward("torch.relu(x) if x.shape[0] > 2 else torch.tanh(x)"),
            "return [torch.rand(4, 64)]",
            (2, 64),
            "the operations change",
        ),
        # How often an operation is made may follow from sizes: then its shortest sums are compared.
        (forward("sum(a.sum() for a in x.unbind(0))"), "return [torch.rand(4, 64)]", (3, 4), "sum is left with 4 values of 64"),
        (forward("sum(a.sum() for a in x.unbind(0))"), "return [torch.rand(4, 64)]", (3, 64), ""),
    ],
)
def test_sizes_that_do_not_stand_for_the_problem(model: str, inputs: str, small: tuple[int, int], reason: str) -> None:
    code = problem(model, inputs)
    told = list(degradations(traced(code), traced(code, dict(zip(("input_0", "input_1"), small, strict=True)))))
    assert bool(told) == bool(reason) and reason in "".join(told)
