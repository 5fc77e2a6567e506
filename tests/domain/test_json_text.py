"""JSON as a person would write it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcbench.domain.json_text import WIDTH, json_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=40,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(VALUES)
def test_it_is_the_same_data(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert text.endswith("\n")


def test_what_fits_stands_on_one_line() -> None:
    data = {"short": {"a": [1, 2], "b": True}, "long": [{"name": "x" * 50, "shape": ["n"]}, {"name": "y" * 50}], "empty": {}}
    assert json_text(data).splitlines() == [
        "{",
        '  "short": {"a": [1, 2], "b": true},',
        '  "long": [',
        '    {"name": "' + "x" * 50 + '", "shape": ["n"]},',
        '    {"name": "' + "y" * 50 + '"}',
        "  ],",
        '  "empty": {}',
        "}",
    ]
    assert max(map(len, json_text(data).splitlines())) <= WIDTH


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_text({"x": float("nan")})
