"""Shapes and constructor arguments follow from named sizes, and the class of each size is what the model bears."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.domain.contract import Contract, evaluate_argument, evaluate_size
from kcbench.infer.axes import Layout, layout, size_class, sized
from kcbench.infer.draft import Draft
from kcbench.infer.problem import Problem
from kcbench.infer.shrink import shrink
from kcbench.infer.trace import trace
from tests.infer import problems
from tests.infer.conftest import drafted
from tests.infer.problems import forward, problem


def laid_out(code: str) -> tuple[Problem, Layout]:
    made = Problem.parse(code, name="problem")
    return made, layout(made, made.constants, list(made.constants))


@pytest.mark.parametrize("name", problems.ALL)
@settings(max_examples=15)
@given(data=st.data())
def test_expressions_are_right_at_any_size(name: str, data: st.DataObject) -> None:
    made, found = laid_out(problems.ALL[name])
    sizes = {**made.constants, **{axis: data.draw(st.integers(2, 40), label=axis) for axis in found.axes}}
    inputs, init = made.interface(sizes)
    for value, shape in zip(inputs, found.shapes, strict=True):
        assert tuple(getattr(value, "shape", ())) == tuple(evaluate_size(size, sizes) for size in shape)
    assert init == [evaluate_argument(argument, sizes) for argument in found.init]


@pytest.mark.parametrize(
    ("constants", "inputs", "init", "axes", "shape", "arguments"),
    [
        ("n = 12", "return [torch.rand(n, 5 * n)]", "[n]", ("n", "input_0"), ("n", "n*input_0"), ({"axis": "n"},)),
        ("a = 12\nb = 10", "return [torch.rand(a * b, 2 * a)]", "[(a, 1)]", ("a", "b", "input_0"), ("a*b", "a*input_0"), ({"tuple": [{"axis": "a"}, 1]},)),
        ("n = 12", "return [torch.rand(n * n, n)]", "[[n * n * n, 'x', None, True]]", ("n",), ("n*n", "n"), ([{"axis": "n*n*n"}, "x", None, True],)),
        ("n = 12\nm = 20", "return [torch.rand(n + 1, m)]", "[]", ("m",), (13, "m"), ()),
        ("n = 12\nm = 20", "return [torch.rand(n // 2, m)]", "[]", ("m",), (6, "m"), ()),
        ("n = 13\nm = 20", "return [torch.rand(n // 2, m)]", "[n]", ("m",), (6, "m"), (13,)),
        ("n = 12\nm = 20", "return [torch.rand(n, m)]", "[[1] * n]", ("m",), (12, "m"), ([1] * 12,)),
        ("n = 12\nm = 20", "return [torch.rand(n, m)]", "[1 / n]", ("m",), (12, "m"), (1 / 12,)),
        ("n = 12\nm = 20", "return [torch.rand(max(n, m), m)]", "[]", (), (20, 20), ()),
        ("n = 12\nm = 20", "assert n == 12\nreturn [torch.rand(n, m)]", "[]", ("m",), (12, "m"), ()),
    ],
)  # fmt: skip
def test_what_can_be_expressed(
    constants: str, inputs: str, init: str, axes: tuple[str, ...], shape: tuple[Any, ...], arguments: tuple[Any, ...]
) -> None:
    _, found = laid_out(problem(forward("x"), inputs, constants=constants, init=init))
    assert (found.axes, found.shapes[0], found.init) == (axes, shape, arguments)


def class_of(code: str, name: str, *, seconds: float = 60.0) -> dict[str, Any]:
    made = Problem.parse(code, name="problem")
    return size_class(made, shrink(made), name, seconds=seconds)


@pytest.mark.parametrize(
    ("name", "axis", "expected"),
    [
        ("matmul", "rows", {}),
        ("matmul", "inner", {}),
        ("softmax", "features", {}),
        ("group norm", "channels", {"multiple_of": 8, "minimum": 8}),
        ("conv", "height", {"minimum": 3}),
        ("flatten", "input_1", {"values": [32, 33]}),
        ("flatten", "input_0", {"values": [3], "varies": False}),
        ("triangular", "side", {}),
    ],
)
def test_classes(name: str, axis: str, expected: dict[str, Any]) -> None:
    found = class_of(problems.ALL[name], axis)
    del found["gate"], found["legacy"]
    assert found == expected


def test_a_larger_kernel_needs_a_larger_image() -> None:
    assert class_of(problems.CONV.replace("kernel = 3", "kernel = 5"), "height")["minimum"] == 5


def test_a_class_ends_where_time_ends() -> None:
    found = class_of(problems.MATMUL, "inner", seconds=-1.0)
    assert found["maximum"] == max(found["gate"], found["legacy"])


def test_counts_that_shape_nothing_are_not_sized() -> None:
    made = Problem.parse(problems.CONV, name="problem")
    names = sized(made, shrink(made))
    assert "kernel" not in names and {"batch", "channels", "filters", "height", "width"} <= set(names)


def test_a_size_of_one_that_is_only_broadcast_is_not_in_the_class(drafts: Callable[[str], Draft]) -> None:
    axes = drafts(problems.CAUSAL).data["axes"]
    assert axes["length"]["gate"] > 3
    assert 1 not in axes["longest"].get("values", [1]) or axes["longest"].get("minimum", 1) > 3


@pytest.mark.parametrize("name", problems.ALL)
def test_contracts_say_what_the_code_makes(name: str, drafts: Callable[[str], Draft]) -> None:
    """At every size in the class: only axes are set in the code, as a run does it."""
    made = drafts(problems.ALL[name])
    contract = Contract.from_json(made.data)
    source = Problem.parse(problems.ALL[name], name="problem")
    for sizes in (contract.sizes(), contract.legacy_sizes()):
        known = {axis: size for axis, size in sizes.items() if axis in source.constants}
        inputs, init = source.interface(known)
        shapes = [tuple(value.shape) for value in inputs if isinstance(value, torch.Tensor)]
        assert [contract.shape(item, sizes) for item in contract.inputs if item.kind != "scalar"] == shapes
        assert list(contract.init_args(sizes)) == init


@pytest.mark.parametrize("name", problems.ALL)
@settings(max_examples=10)
@given(data=st.data())
def test_the_model_runs_wherever_one_axis_moves_in_its_class(name: str, data: st.DataObject) -> None:
    made = drafted(problems.ALL[name])
    contract = Contract.from_json(made.data)
    moving = [axis for axis, entry in contract.axes.items() if entry.varies]
    axis = data.draw(st.sampled_from(moving))
    size = data.draw(st.integers(1, 40).filter(contract.axes[axis].admits))
    sizes = contract.sizes(**{axis: size})
    trace(made.problem, sizes, seconds=60.0, real=made.shrunk.real)
