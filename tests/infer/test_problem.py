"""A problem at any sizes is what its source makes there."""

from __future__ import annotations

import pytest
import torch

from kcbench.errors import KcbenchError
from kcbench.infer.problem import Problem, run
from kcbench.oracle.draw import MODEL_SEED
from tests.infer import problems
from tests.infer.problems import forward, problem


def parse(code: str) -> Problem:
    return Problem.parse(code, name="problem")


@pytest.mark.parametrize("name", problems.ALL)
def test_the_interface_is_that_of_a_real_call(name: str) -> None:
    made = parse(problems.ALL[name])
    small = {size: min(value, 16) for size, value in made.constants.items()}
    shapes, init = made.interface(small)
    real = made.inputs(small)
    assert [getattr(value, "shape", value) for value in shapes] == [getattr(value, "shape", value) for value in real]
    assert [getattr(value, "dtype", None) for value in shapes] == [getattr(value, "dtype", None) for value in real]
    assert all(value.is_meta for value in shapes if isinstance(value, torch.Tensor))
    assert init == made.module(small).get_init_inputs()


def test_a_generator_that_reads_values_is_run() -> None:
    inputs = "x = torch.rand(rows, 4)\nn = int(x.sum() > 0) + 1\nreturn [x[:n]]"
    shapes, _ = parse(problem(forward("x"), inputs, constants="rows = 8")).interface({"rows": 3})
    assert tuple(shapes[0].shape) == (2, 4) and shapes[0].is_meta


def test_models_are_those_of_the_published_harness() -> None:
    made = parse(problems.LINEAR)
    torch.manual_seed(MODEL_SEED)
    other = made.module({"dim": 5}).Model(20, 512)
    mine = made.model({"dim": 5})
    assert all(torch.equal(a, b) for a, b in zip(mine.parameters(), other.parameters(), strict=True))
    assert all(value.is_meta for value in made.model({}, meta=True).parameters())


def test_a_draw_follows_its_seed_and_leaves_the_global_generator_alone() -> None:
    made, sizes = parse(problems.MATMUL), {"rows": 4, "inner": 5, "columns": 6}
    state = torch.random.get_rng_state()
    first, again, other = made.inputs(sizes), made.inputs(sizes), made.inputs(sizes, seed=1)
    made.model(sizes)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(first[0], again[0]) and not torch.equal(first[0], other[0])
    assert not run(made.model(sizes), first)[0].requires_grad


def test_sizes_can_be_held() -> None:
    made = parse(problems.MATMUL).holding({"inner"})
    assert made.constants == {"rows": 1024, "columns": 2048}
    assert [tuple(value.shape) for value in made.interface({"rows": 2, "columns": 3})[0]] == [(2, 4096), (4096, 3)]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (problem(forward("x"), "return [1 / 0]"), "get_inputs or get_init_inputs fails: ZeroDivisionError"),
        (problem(forward("x"), "return [torch.rand(2)]", init="[missing]"), "get_inputs or get_init_inputs fails: NameError"),
        (problem(forward("x"), "return [2, 'a']"), "get_inputs returns no tensor"),
        (
            problem(forward("x"), "return [torch.rand(2)]", before="import nowhere_to_be_found"),
            "does not run: ModuleNotFoundError",
        ),
        ("def get_inputs(): return []\ndef get_init_inputs(): return []\n", "the task defines no Model"),
    ],
)
def test_what_is_wrong_with_a_problem_is_told_in_one_line(code: str, message: str) -> None:
    with pytest.raises(KcbenchError) as error:
        parse(code).check()
    assert message in str(error.value) and "\n" not in str(error.value)
