"""Filters as the query of a URL: what is chosen comes back, and nonsense is left out."""

from __future__ import annotations

import dataclasses
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcbench.leaderboard.filters import LEGACY_CHECKS, LONGEST, MOST_VALUES, Filters

TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=30)
VALUES = st.lists(TEXT, max_size=4).map(tuple)
LISTS = [item.name for item in dataclasses.fields(Filters) if item.type == "tuple[str, ...]"]
FREE = [name for name in LISTS if name not in ("gates", "without", "runs")]


@given(
    st.fixed_dictionaries(dict.fromkeys(FREE, VALUES)),
    st.lists(st.sampled_from(["PRC-01", "GUARD"]), max_size=2),
    st.lists(st.sampled_from(["PRC-01.tf32", "EXC-01"]), max_size=2),
    TEXT,
    st.sampled_from(LEGACY_CHECKS),
)
def test_what_is_chosen_comes_back(
    values: dict[str, Any], gates: list[str], without: list[str], search: str, legacy: str
) -> None:
    search = search.strip() if search.isprintable() else ""
    filters = Filters(**values, gates=tuple(gates), without=tuple(without), search=search, legacy=legacy, runs=("0a1b",))
    query = filters.to_query()
    assert Filters.from_query(query) == filters
    through_a_url = dict(urllib.parse.parse_qsl(urllib.parse.urlencode(query), keep_blank_values=True))
    assert Filters.from_query(through_a_url) == filters


def test_a_query_reads_well() -> None:
    assert Filters().to_query() == {}
    filters = Filters(levels=("2", "1", "1"), languages=("triton",), authors=("a,b", ""), search="soft", legacy="kernelbench-v1")
    assert filters.to_query() == {
        "levels": "1,2",
        "languages": "triton",
        "authors": "%,a%2Cb",
        "search": "soft",
        "legacy": "kernelbench-v1",
    }
    assert hash(filters) == hash(Filters.from_query(filters.to_query()))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"nonsense": "1", "__class__": "x"}, Filters()),
        ({"levels": ["1"], "search": None, "authors": 7}, Filters()),
        ({"levels": ",,1,"}, Filters(levels=("1",))),
        ({"gates": "PRC-01,prc-01,<script>,PRC-01.tf32"}, Filters(gates=("PRC-01",))),
        ({"without": "PRC-01.tf32,PRC-01,x.y,PRC-01.<b>"}, Filters(without=("PRC-01", "PRC-01.tf32"))),
        ({"runs": "../../etc,0a,XYZ"}, Filters(runs=("0a",))),
        ({"legacy": "mine"}, Filters()),
        ({"search": "  soft  "}, Filters(search="soft")),
        ({"search": "a\x1b[31m"}, Filters()),
        ({"authors": "%zz,%41,\x00"}, Filters(authors=("%zz", "A"))),
    ],
)
def test_nonsense_is_left_out(query: dict[str, Any], expected: Filters) -> None:
    assert Filters.from_query(query) == expected


def test_a_query_has_bounds() -> None:
    filters = Filters.from_query({"authors": ",".join(map(str, range(10_000))), "tasks": "x" * 100_000, "search": "y" * 100_000})
    assert len(filters.authors) == MOST_VALUES
    assert (filters.tasks, filters.search) == (("x" * LONGEST,), "y" * LONGEST)
