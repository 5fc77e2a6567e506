"""What may be redrawn is redrawn, and what has a structure keeps it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from kcbench.infer.draft import Draft
from kcbench.infer.operands import argument_names, describe_inputs, describe_parameters, plain_inputs
from kcbench.infer.problem import Problem
from kcbench.numerics.fills import fill
from tests.infer import problems
from tests.infer.problems import forward, problem

CONSTANTS = "n = 6\nscale = 3\nscales = (2, 3)"


@pytest.mark.parametrize(
    ("body", "plain"),
    [
        ("return [torch.rand(n), torch.randn(n, n)]", [True, True]),
        ("return (torch.rand(n) * 2 - 1, -0.5 + torch.randn(n) / scale)", [True, True]),
        ("x = torch.rand(n)\nreturn [x.float().contiguous(), x]", [True, True]),
        ("'A docstring.'\ntorch.manual_seed(3)\nx = torch.rand(n)\ny = 2 * x\nreturn [y]", [True]),
        ("return [torch.tril(torch.rand(n, n)), torch.rand(n)]", [False, True]),
        ("return [torch.rand(n, n).triu()]", [False]),
        ("return [torch.rand(n) > 0.5, torch.randint(0, 2, (n,))]", [False, False]),
        ("return [torch.rand(n).softmax(0), torch.ones(n), torch.arange(n)]", [False, False, False]),
        ("x = torch.rand(n, n)\nx = x @ x.T\nreturn [x]", [False]),
        ("x = torch.rand(n, n)\nx += x.T\nreturn [x]", [False]),
        ("x = torch.rand(n, n)\nx.tril_()\nreturn [x]", [False]),
        ("x = torch.rand(n, n)\nx[0] = 0\nreturn [x]", [False]),
        ("x = torch.rand(n, n)\nfor i in range(n):\n    x[i, i] = 1\nreturn [x]", [False]),
        ("return [torch.rand(n) + -torch.ones(n).tril()]", [False]),
        ("if n > 3:\n    return [torch.rand(n)]\nreturn [torch.zeros(n)]", [False]),
        ("values = [torch.rand(n)]\nreturn values", [False]),
    ],
)
def test_what_is_a_plain_draw(body: str, plain: list[bool]) -> None:
    assert plain_inputs(problem(forward("x"), body, constants=CONSTANTS), len(plain)) == plain


def test_a_list_of_another_length_is_not_understood() -> None:
    assert plain_inputs(problem(forward("x"), "return [torch.rand(3)]"), 2) == [False, False]
    assert plain_inputs("x = 3\n", 1) == [False]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ("x, y", ["x", "y"]),
        ("x, y=None, *, z=None", ["x", "y"]),
        ("x, *more", ["x", "input_1"]),
        ("*everything", ["input_0", "input_1"]),
    ],
)
def test_arguments_are_called_as_in_forward(arguments: str, names: list[str]) -> None:
    made = Problem.parse(problem(forward("x", arguments), "return [torch.rand(3), torch.rand(3)]"), name="problem")
    assert argument_names(made, 2) == names


def described(name: str, drafts: Callable[[str], Draft]) -> dict[str, dict[str, object]]:
    return {item["name"]: item for item in drafts(problems.ALL[name]).data["inputs"]}


def test_integer_targets_come_from_the_problem(drafts: Callable[[str], Draft]) -> None:
    inputs = described("cross entropy", drafts)
    assert inputs["predictions"]["recipe"] == {"kind": "normal"}
    assert (inputs["targets"]["kind"], inputs["targets"]["recipe"]) == ("given", {"kind": "problem"})
    assert drafts(problems.CROSS_ENTROPY).data["reasons"]["inputs.targets"] == "int64: drawn by get_inputs"


def test_triangular_inputs_come_from_the_problem(drafts: Callable[[str], Draft]) -> None:
    inputs = described("triangular", drafts)
    assert all(item["domain"] == "recipe" and item["recipe"] == {"kind": "problem"} for item in inputs.values())
    assert "inputs.A" in drafts(problems.TRIANGULAR).data["reasons"]


def test_numbers_stay_numbers(drafts: Callable[[str], Draft]) -> None:
    assert described("scalar", drafts)["scale"] == {"name": "scale", "shape": [], "kind": "scalar", "value": 3.5}


def test_an_input_that_is_nothing_known_is_refused() -> None:
    made = Problem.parse(problem(forward("x", "x, how"), "return [torch.rand(3), 'mean']"), name="problem")
    with pytest.raises(ValueError, match="the input how is a str, neither a tensor nor a number"):
        describe_inputs(made, {}, ((3,), ()))


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(40)
        self.linear = nn.Linear(40, 30)
        self.register_buffer("mask", torch.tril(torch.ones(5, 5)))
        self.shift = nn.Parameter(torch.full((40,), 2.0))


def test_parameters_are_moved_off_the_identity() -> None:
    torch.manual_seed(0)
    recipes, reasons = describe_parameters(Layers())
    assert recipes["norm.weight"] == {"kind": "normal", "mean": 1.0, "std": 0.3}
    assert recipes["norm.bias"] == {"kind": "normal", "std": 0.5}
    assert recipes["norm.running_var"] == {"kind": "positive"}
    assert recipes["shift"] == {"kind": "normal", "mean": 2.0, "std": 0.6}
    assert recipes["mask"] == {"kind": "problem"} and "parameters.mask" in reasons
    assert "norm.num_batches_tracked" not in recipes
    assert recipes["linear.weight"]["std"] == pytest.approx(1.5 * 40**-0.5 / 3**0.5, rel=0.1)


def test_every_recipe_can_be_drawn_and_differs_from_what_was_constructed() -> None:
    model = Layers()
    for name, recipe in describe_parameters(model)[0].items():
        if recipe["kind"] != "problem":
            built = model.state_dict()[name]
            drawn = fill(recipe, built.shape, "float32", name)
            assert bool((drawn != built).all())


def test_many_matrices_keep_their_spread() -> None:
    torch.manual_seed(0)
    deep = nn.Sequential(*(nn.Linear(16, 16) for _ in range(13)))
    spread = float(deep[0].weight.detach().std(correction=0))
    assert describe_parameters(deep)[0]["0.weight"]["std"] == pytest.approx(spread, rel=0.01)
