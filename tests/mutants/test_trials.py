"""Trials stay inside the contract and away from the gates' probes."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from kcbench.engine.calls import plan_context  # noqa: E402
from kcbench.gates import PlanContext, all_gates  # noqa: E402
from kcbench.mutants.trials import BUDGET, FAMILIES, INTERPRETED_BUDGET, Trial, base_trials, directed_trials  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402
from tests.chosen import ALL  # noqa: E402

LONGEST = 4300


def context(task: str, *, interpreted: bool = False) -> PlanContext:
    return plan_context(load_task(task), device="cpu", interpreted=interpreted, redraw=True)


def made(task: str, *, interpreted: bool = False, seed: str = "a") -> list[Trial]:
    return base_trials(context(task, interpreted=interpreted), seed=seed, count=48)


@pytest.mark.parametrize("task", ALL)
def test_sizes_and_dtypes_are_those_of_the_contract(task: str) -> None:
    contract = load_task(task).contract
    for trial in made(task):
        assert set(trial.probe.axes) == set(contract.axes)
        for name, size in trial.probe.axes.items():
            axis = contract.axes[name]
            assert axis.admits(size) if axis.varies else size == axis.gate
        assert trial.probe.dtype in contract.dtypes
        assert set(trial.probe.inputs) == {item.name for item in contract.inputs}


@pytest.mark.parametrize("task", ["level1/relu", "level1/matmul", "level1/conv2d"])
def test_tensors_stay_small(task: str) -> None:
    contract = load_task(task).contract
    for interpreted, budget in ((False, BUDGET), (True, INTERPRETED_BUDGET)):
        for trial in made(task, interpreted=interpreted):
            sizes = [math.prod(contract.shape(item, trial.probe.axes)) for item in contract.inputs]
            # One size may be given, and the others are then as small as the contract lets them be.
            assert (
                max(sizes) <= budget
                or max(sizes) <= LONGEST * max(9, *trial.probe.axes.values()) // max(trial.probe.axes.values()) * 9
            )


def test_inputs_with_a_recipe_of_their_own_keep_it() -> None:
    contract = load_task("level4/gated_delta_rule").contract
    for trial in made("level4/gated_delta_rule"):
        for name in ("k", "g", "beta"):
            recipe = trial.probe.inputs[name]
            assert recipe.get("base", recipe) == contract.input(name).recipe


def test_every_family_and_layout_is_tried() -> None:
    found = {trial.family for trial in made("level1/softmax")}
    assert set(FAMILIES) <= found
    assert {"normal transposed", "normal strided", "normal offset", "gradient", "square"} <= found


def test_what_is_poisoned_says_so() -> None:
    for trial in made("level1/matmul"):
        values = [value for recipe in trial.probe.inputs.values() for value in recipe.get("values", ())]
        assert trial.poisoned == any(value in ("nan", "inf", "-inf") for value in values)


def test_they_follow_from_the_seed() -> None:
    assert made("level1/softmax") == made("level1/softmax")
    assert [trial.probe.axes for trial in made("level1/softmax")] != [
        trial.probe.axes for trial in made("level1/softmax", seed="b")
    ]


@pytest.mark.parametrize("task", ["level1/softmax", "level1/conv2d"])
def test_none_is_a_gates_probe(task: str) -> None:
    streams = {probe.stream for gate in all_gates() for probe in gate.plan(context(task))}
    assert streams and not streams & {trial.probe.stream for trial in made(task)}


def test_numbers_in_the_text_become_sizes_and_scales() -> None:
    source = "def f(x):\n    return x if x.shape[-1] < 57 else x.clamp(min=3e-05)\n"
    trials = directed_trials(context("level1/softmax"), source, "def f(x):\n    return x\n", seed="a", count=40)
    sizes = {size for trial in trials for size in trial.probe.axes.values()}
    assert {56, 57, 58} <= sizes
    gains = {recipe["gain"] for trial in trials for recipe in trial.probe.inputs.values() if "gain" in recipe}
    assert {3e-05 / 8, 3e-05 * 8} <= gains


def test_new_numbers_come_first() -> None:
    trials = directed_trials(context("level1/softmax"), "x = 32 + 57", "x = 32", seed="a", count=6)
    assert all(
        57 in (size - 1, size, size + 1)
        for trial in trials
        for size in [min(trial.probe.axes.values(), key=lambda s: abs(s - 57))]
    )


def test_means_stay_within_the_largest_scale() -> None:
    recipes = [recipe for trial in made("level1/attention") for name, recipe in trial.probe.inputs.items() if name in ("q", "k")]
    means = [recipe["mean"] for recipe in recipes if "mean" in recipe]
    assert means and all(abs(mean) <= 4.0 for mean in means)
