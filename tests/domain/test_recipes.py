"""The catalogue of recipes agrees with the schema and with the fills that draw from them."""

from __future__ import annotations

import json

import pytest

from kcbench.domain.recipes import COMMON, KINDS, recipe_problems
from kcbench.numerics import fills
from kcbench.paths import data_root


def test_same_table_as_fills() -> None:
    assert {kind: required | optional for kind, (required, optional) in KINDS.items()} == {
        k: set(o) for k, o in fills.KINDS.items()
    }
    for kind, (required, _) in KINDS.items():
        assert required == {name for name, default in fills.KINDS[kind].items() if default is ...}


def test_same_table_as_schema() -> None:
    schema = json.loads((data_root() / "schemas" / "contract.schema.json").read_text())["$defs"]["recipe"]["properties"]
    assert set(schema["kind"]["enum"]) == set(KINDS)
    assert set(schema) == {"kind"} | COMMON | {name for required, optional in KINDS.values() for name in required | optional}


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ({"kind": "normal", "std": 2, "gain": 3, "shift": 1}, []),
        ({"kind": "poison", "base": {"kind": "normal"}, "at": [[0, 1]], "value": "nan"}, []),
        ({"kind": "poison", "base": {"kind": "normal"}, "at": [[0, 1], [1, 1]], "values": ["inf", -0.0]}, []),
        ({"kind": "index", "high": 3, "gain": 2}, [("$.gain", "expected an option of the kind index (high), found 'gain'")]),
        ({"kind": "logistic", "low": 0}, [("$.low", "expected an option of the kind logistic (gain, shift), found 'low'")]),
        ({"kind": "eye", "dims": [0, 2]}, [("$.dims", "expected a dimension of a tensor with 2 of them, found 2")]),
        ({"kind": "constant", "value": "nan"}, [("$.value", "expected a number, found 'nan'")]),
        (
            {"kind": "poison", "base": {"kind": "signs"}, "at": [[0]], "value": "max"},
            [("$.at[0]", "expected 2 indices, found 1")],
        ),
        ({"kind": "poison", "base": {"kind": "signs"}, "at": []}, [("$", "expected either 'value' or 'values', found none")]),
        (
            {"kind": "poison", "base": {"kind": "signs"}, "at": [[0, 0]], "value": 1, "values": [1]},
            [("$", "expected either 'value' or 'values', found both")],
        ),
        (
            {"kind": "poison", "base": {"kind": "signs"}, "at": [[0, 0]], "values": []},
            [("$.values", "expected 1 values, one for each position, found 0")],
        ),
        (
            {"kind": "permuted", "base": {"kind": "unit", "dim": 5}, "dim": 1, "perm": "p"},
            [("$.base.dim", "expected a dimension of a tensor with 2 of them, found 5")],
        ),
    ],
)
def test_recipe(recipe: dict[str, object], expected: list[tuple[str, str]]) -> None:
    assert list(recipe_problems(recipe, "$", rank=2)) == expected
