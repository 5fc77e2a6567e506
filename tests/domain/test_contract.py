"""Sizes and arguments as a contract writes them, and what they are at given sizes of the axes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.domain.check import contract_problems
from kcbench.domain.contract import Contract, evaluate_argument, evaluate_size, factors
from kcbench.domain.schema import validate
from kcbench.tasks import load_task

AXES = {"rows": 3, "heads_2": 4, "width": 5}
parts = st.one_of(st.integers(0, 100), st.sampled_from(list(AXES)))


@given(st.lists(parts, min_size=1, max_size=5))
def test_a_product_is_the_product_of_its_factors(items: list[int | str]) -> None:
    text = "*".join(map(str, items))
    assert factors(text) == tuple(items)
    assert evaluate_size(text, AXES) == math.prod(AXES[item] if isinstance(item, str) else item for item in items)


def test_sizes_of_one_factor() -> None:
    assert (factors(7), evaluate_size(7, {}), evaluate_size("rows", AXES)) == ((7,), 7, 3)
    with pytest.raises(KeyError, match="depth"):
        evaluate_size("2*depth", AXES)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (3, 3),
        (True, True),
        (None, None),
        ("mean", "mean"),
        ([1, [2.5]], [1, [2.5]]),
        ({"axis": "rows"}, 3),
        ({"axis": "2*rows*width"}, 30),
        ([{"axis": "rows"}, 1], [3, 1]),
        ({"tuple": []}, ()),
        ({"tuple": [{"axis": "rows"}, {"tuple": [1, [{"axis": "width"}]]}]}, (3, (1, [5]))),
    ],
)
def test_arguments(argument: Any, expected: Any) -> None:
    found = evaluate_argument(argument, AXES)
    assert found == expected and type(found) is type(expected)


def made(**changes: Any) -> Contract:
    """The contract of a shipped task with other parts; it must be valid."""
    data = {**load_task("level1/softmax").contract.raw, "designed": [], "reduction": None, "gradient": None, **changes}
    validate(data, "contract", source="test")
    assert list(contract_problems(data)) == []
    return Contract.from_json(data)


def test_a_contract_with_products_tuples_and_given_inputs() -> None:
    contract = made(
        axes={"rows": {"gate": 3, "legacy": 6}, "width": {"gate": 5, "legacy": 7}},
        init=[{"axis": "2*width"}, {"tuple": [{"axis": "width"}, 1]}],
        inputs=[
            {"name": "x", "shape": ["rows", "2*width"]},
            {"name": "target", "shape": ["rows"], "kind": "given", "domain": "recipe", "recipe": {"kind": "problem"}},
        ],
        reduction={"length": ["2*width", 3], "operands": [["x", 1]]},
        untestable={"CMP-01": "it is constant"},
    )
    sizes = contract.sizes(width=4)
    assert [contract.shape(item, sizes) for item in contract.inputs] == [(3, 8), (3,)]
    assert contract.init_args(sizes) == (8, (4, 1))
    assert contract.reduction_length(sizes) == 24
    assert contract.legacy_sizes() == {"rows": 6, "width": 7}
    assert contract.untestable == {"CMP-01": "it is constant"}


def test_what_is_left_out_is_testable() -> None:
    assert made().untestable == {}
