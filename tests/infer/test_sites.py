"""Sizes become constants that can be set, and nothing else about a problem changes."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.errors import KcbenchError
from kcbench.infer.sites import find_sites, integer
from kcbench.oracle.module import problem_module
from tests.infer import problems
from tests.infer.problems import forward, layers, problem

IDENTITY = forward("x")


def constants_of(code: str) -> dict[str, int]:
    return find_sites(code, where="problem").constants


def interface(code: str, sizes: dict[str, int] | None = None) -> tuple[list[Any], list[Any]]:
    """Shapes and dtypes of the inputs, and the constructor arguments."""
    module = problem_module(code, sizes, name="problem", where="problem")
    torch.manual_seed(0)
    inputs = [(value.dtype, tuple(value.shape)) if isinstance(value, torch.Tensor) else value for value in module.get_inputs()]
    return inputs, module.get_init_inputs()


@pytest.mark.parametrize(
    ("constants", "inputs", "init", "expected"),
    [
        ("batch = 16", "return [torch.rand(batch)]", "[]", {"batch": 16}),
        ("rows = 512 * 2 + 3", "return [torch.rand(rows)]", "[]", {"rows": 1027}),
        ("rows = 2 ** 10 // 3", "return [torch.rand(rows)]", "[]", {"rows": 341}),
        ("batch: int = 16", "return [torch.rand(batch)]", "[]", {"batch": 16}),
        ("height = width = 32", "return [torch.rand(height, width)]", "[]", {"height": 32, "width": 32}),
        ("depth, height = 16, 32", "return [torch.rand(depth, height)]", "[]", {"depth": 16, "height": 32}),
        ("dim = 256\nfeatures = 4 * dim", "return [torch.rand(features)]", "[]", {"dim": 256, "features_0": 4}),
        ("shape = (24, 1)", "return [torch.rand(shape)]", "[shape]", {"shape_0": 24}),
        ("", "return [torch.rand(16, 32)]", "[]", {"input_0": 16, "input_1": 32}),
        ("", "return [torch.rand(16 * 2, 5)]", "[64]", {"input_0": 32, "input_1": 5, "init_0": 64}),
        ("input_0 = 3", "return [torch.rand(input_0, 16)]", "[]", {"input_0": 3, "input_1": 16}),
        ("dim = 1", "return [torch.rand(4)]", "[dim]", {"input_0": 4}),
        ("dim = 512", "return [torch.rand(dim)]", "[dim]", {"dim": 512}),
        ("", "torch.manual_seed(17)\nreturn [torch.rand(16)[:9].view(-1, 3)]", "[]", {"input_0": 16, "input_1": 3}),
        ("", "return [torch.randint(0, 10, (16,))]", "[]", {"input_0": 16}),
        ("", "return [torch.randint(0, 10, size=(16,))]", "[]", {"input_0": 16}),
        ("classes = 10", "return [torch.randint(0, classes, (16,))]", "[]", {"classes": 10, "input_0": 16}),
        ("", "return [torch.rand(16, 8).transpose(0, 1).softmax(dim=1)]", "[]", {"input_0": 16, "input_1": 8}),
        ("flag = True\nscale = 0.5\nname = 'sum'", "return [torch.rand(4)]", "[flag, scale, name]", {"input_0": 4}),
        ("n = m = 4\nn = 8", "return [torch.rand(n, m)]", "[]", {"n": 8, "m": 4}),
        ("n = 4\nm = 2 * n\nn = 8", "return [torch.rand(n, m)]", "[]", {"m_0": 2}),
        ("n = 4\nn = 2 * n", "return [torch.rand(n)]", "[]", {"unit_0": 1}),
        ("n = 4\nn *= 8", "return [torch.rand(n)]", "[]", {"unit_0": 1}),
        ("pad = -1", "return [torch.rand(4)]", "[pad]", {"input_0": 4}),
    ],
)
def test_what_is_a_size(constants: str, inputs: str, init: str, expected: dict[str, int]) -> None:
    code = problem(IDENTITY, inputs, constants=constants, init=init)
    sites = find_sites(code, where="problem")
    assert sites.constants == expected
    assert interface(sites.code) == interface(code)
    assert interface(sites.code, sites.constants) == interface(code)


TEMPLATES = {
    "named": (IDENTITY, "return [torch.rand(a, b)]", "a = {}\nb = {}", "[b]"),
    "literals": (IDENTITY, "return [torch.rand({}, {}), 2.5]", "", "[{}, (1, {})]"),
    "chained": (IDENTITY, "return [torch.rand(a, b)]", "a = {0}\nb, c = {1}, {2}", "[a * b, c]"),
    "derived": (
        IDENTITY,
        "return [torch.rand(batch, features)]",
        "batch = {}\nhalf = {}\nfeatures = {} * half",
        "[features, half + 1]",
    ),
    "tuples": (IDENTITY, "return [torch.rand(*shape), torch.zeros(shape[1])]", "shape = ({}, {})", "[shape, [{}, None]]"),
    "local": (IDENTITY, "n = {}\nreturn [torch.rand(n, n + {})]", "", "[]"),
    "listed": (IDENTITY, "return [torch.rand(n) for n in sizes]", "sizes = [{}, {}, {}]", "[len(sizes)]"),
}


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=20)
@given(data=st.data())
def test_setting_sizes_is_writing_other_numbers(name: str, data: st.DataObject) -> None:
    model, *parts = TEMPLATES[name]
    count = sum(part.count("{") for part in parts)
    numbers = st.lists(st.integers(2, 40), min_size=count, max_size=count)
    before, after = data.draw(numbers), data.draw(numbers)

    def written(values: list[int]) -> str:
        values, filled = list(values), []
        for part in (parts[1], parts[0], parts[2]):
            mine, values = values[: part.count("{")], values[part.count("{") :]
            filled.append(part.format(*mine))
        return problem(model, filled[1], constants=filled[0], init=filled[2])

    sites = find_sites(written(before), where="problem")
    assert list(sites.constants.values()) == before
    assert interface(sites.code) == interface(written(before))
    assert interface(sites.code, dict(zip(sites.constants, after, strict=True))) == interface(written(after))


@pytest.mark.parametrize(
    ("model", "constants", "pinned"),
    [
        (forward("x.reshape(batch, -1)"), "batch = 4\nwidth = 8", {"batch"}),
        (
            layers("self.table = torch.zeros(features)", "x + self.table"),
            "half = 4\nfeatures = 2 * half\nwidth = 8",
            {"half", "features_0"},
        ),
        # An argument of one method hides the constant there, and there alone.
        (layers("self.n = batch", "x.reshape(batch, -1)", constructor="batch"), "batch = 4\nwidth = 8", {"batch"}),
        (layers("self.n = batch", "x.reshape(self.n, -1)", constructor="batch"), "batch = 4\nwidth = 8", set()),
        ("rows = batch\n" + forward("x"), "", {"batch"}),
    ],
)
def test_what_the_model_reads_from_the_module_is_no_size(model: str, constants: str, pinned: set[str]) -> None:
    before = "" if constants else "batch = 4\nwidth = 8"
    code = problem(model, "return [torch.rand(4)]", constants=constants, before=before)
    everything = constants_of(problem(IDENTITY, "return [torch.rand(4)]", constants=constants, before=before))
    assert everything.keys() - constants_of(code).keys() == pinned


def test_a_function_between_the_model_and_a_constant_counts() -> None:
    before = "width = 8\ndepth = 5\n\n\ndef helper(x):\n    return x.reshape(-1, width)\n\n\ndef other():\n    return depth\n"
    code = problem(forward("helper(x)"), "return [torch.rand(depth, width)]", before=before)
    assert constants_of(code) == {"depth": 5}


def test_code_without_unnamed_sizes_stays_as_it_is() -> None:
    assert find_sites(problems.GROUP_NORM, where="problem").code == problems.GROUP_NORM


def test_new_names_are_new() -> None:
    before = "import math as input_0\n\n\ndef input_1(input_2):\n    return input_2\n"
    assert constants_of(problem(IDENTITY, "input_3 = 1\nreturn [torch.rand(16)]", before=before)) == {"input_4": 16}


@pytest.mark.parametrize("code", ["def", "x = (", "a\0b"])
def test_what_cannot_be_parsed_is_told_in_one_line(code: str) -> None:
    with pytest.raises(KcbenchError, match="cannot be parsed") as error:
        find_sites(code, where="level1/x")
    assert "\n" not in str(error.value)


@given(
    st.recursive(
        st.integers(0, 9).map(str),
        lambda inner: st.tuples(inner, st.sampled_from(["+", "*", "//"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        max_leaves=6,
    )
)
def test_integer_is_what_python_makes_of_it(text: str) -> None:
    try:
        expected = eval(text)
    except ZeroDivisionError:
        expected = None
    assert integer(ast.parse(text, mode="eval").body) == expected
