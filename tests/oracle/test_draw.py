"""From recipes to tensors, where some come from the problem's own generator."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kcbench.domain.probe import Recipe
from kcbench.oracle.draw import ParameterSpec, call_json, draw_inputs, draw_parameters, from_problem, problem_key
from kcbench.oracle.generate import Generator
from tests.oracle.tasks import PROBLEM, made, plan

TIED = made(
    "return a @ b[keep]",
    arguments="a, n, b, keep",
    inputs="a = torch.rand(rows, width)\nreturn [a, 2.5, a.T.contiguous(), torch.randint(0, width, (width,), dtype=torch.int32)]",
    described=[
        {"name": "a", "shape": ["rows", "width"], "domain": "recipe", "recipe": PROBLEM},
        {"name": "n", "shape": [], "kind": "scalar", "value": 2.5},
        {"name": "b", "shape": ["width", "rows"], "domain": "recipe", "recipe": PROBLEM},
        {"name": "keep", "shape": ["width"], "kind": "given", "domain": "recipe", "recipe": PROBLEM},
    ],
    parameters={"mask": PROBLEM, "weight": {"kind": "normal"}},
)
SPECS = (ParameterSpec("mask", (5,), True), ParameterSpec("weight", (5,), True), ParameterSpec("count", (), False))


def drawn(inputs: dict[str, Recipe] | None = None, *, stream: str = "s", **axes: int) -> dict[str, Any]:
    probe = plan(TIED).probe("p", inputs=inputs, axes=axes, stream=stream)
    return draw_inputs(TIED.contract, probe, "seed", Generator(TIED))


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (PROBLEM, True),
        ({"kind": "normal"}, False),
        ({"kind": "poison", "base": PROBLEM}, True),
        ({"kind": "permuted", "base": {"kind": "poison", "base": PROBLEM}}, True),
        ({"kind": "permuted", "base": {"kind": "normal"}}, False),
    ],
)
def test_whether_a_recipe_needs_the_problem(recipe: Recipe, expected: bool) -> None:
    assert from_problem(recipe) is expected


def test_what_ties_inputs_together_stays() -> None:
    found = drawn(width=4)
    assert list(found) == ["a", "n", "b", "keep"] and found["n"] == 2.5
    assert torch.equal(found["a"], found["b"].T)
    assert (tuple(found["a"].shape), found["keep"].dtype, tuple(found["keep"].shape)) == ((3, 4), torch.int32, (4,))
    assert int(found["keep"].max()) < 4


def test_streams_and_seeds_give_other_values() -> None:
    one, again, other = drawn(), drawn(), drawn(stream="t")
    assert torch.equal(one["a"], again["a"]) and not torch.equal(one["a"], other["a"])
    assert problem_key(PROBLEM, "seed", "s") != problem_key(PROBLEM, "deed", "s")
    # A recipe may name its own stream, as parameters do that stay while inputs change.
    named = drawn({name: {**PROBLEM, "stream": "s"} for name in ("a", "b", "keep")}, stream="t")
    assert torch.equal(named["a"], one["a"])


def test_recipes_over_the_problems_draw() -> None:
    plain = drawn()
    found = drawn({"a": {"kind": "poison", "base": PROBLEM, "at": [[0, 1]], "value": "nan"}, "b": {**PROBLEM, "gain": 2.0}})
    assert torch.isnan(found["a"][0, 1]) and torch.equal(found["a"][1:], plain["a"][1:])
    assert torch.equal(found["b"], 2 * plain["b"])


def test_floating_inputs_are_rounded_to_the_probes_dtype() -> None:
    probe = plan(TIED).probe("p", dtype="bfloat16")
    found = draw_inputs(TIED.contract, probe, "seed", Generator(TIED))
    assert (found["a"].dtype, found["keep"].dtype) == (torch.bfloat16, torch.int32)


def test_parameters_of_the_problems_making_are_not_drawn() -> None:
    probe = plan(TIED).probe("p")
    assert list(draw_parameters(TIED.contract, probe, SPECS, "seed") or {}) == ["weight"]
    moved = plan(TIED).probe("p", parameters={"mask": {"kind": "normal"}, "weight": PROBLEM})
    assert list(draw_parameters(TIED.contract, moved, SPECS, "seed") or {}) == ["mask"]


def test_calls_as_data() -> None:
    call = call_json(TIED.contract, plan(TIED).probe("p"), SPECS, "seed", ())
    a, n, b, keep = call["inputs"]
    assert a["given"] == {**b["given"], "index": 0} and (b["given"]["index"], keep["given"]["index"]) == (2, 3)
    assert a["given"]["sizes"] == {"rows": 3, "width": 5}
    assert "given" not in n and (a["dtype"], keep["dtype"]) == ("float32", None)
    assert [spec["name"] for spec in call["parameters"]] == ["weight"]
    torch.manual_seed(a["given"]["seed"])
    assert torch.equal(torch.rand(3, 5), drawn(stream="main")["a"])


def test_calls_without_the_problem_say_nothing_of_it() -> None:
    task = made("return x")
    (entry,) = call_json(task.contract, plan(task).probe("p"), (), "seed", ())["inputs"]
    assert "given" not in entry and entry["dtype"] == "float32"
