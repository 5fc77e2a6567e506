"""Addresses, and the small pieces of HTML that many views show."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette")

from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.links import Asked, link, value_word
from kcbench.leaderboard.marks import badge, rate, ratio, share
from kcbench.leaderboard.table import Column, chosen, ordered
from kcbench.leaderboard.views.board import for_spreadsheets, overall
from kcbench.report.gap import Share

TEXT = st.text(st.characters(blacklist_categories=["Cc", "Cs"]), max_size=30)


def read(url: str) -> Asked:
    parts = urlsplit(url)
    return Asked.read(parts.path, parse_qsl(parts.query))


@given(st.lists(TEXT, max_size=3), st.lists(TEXT, min_size=1, max_size=2), TEXT.map(str.strip))
def test_an_address_brings_back_its_filters(authors: list[str], tasks: list[str], option: str) -> None:
    filters = Filters(authors=tuple(authors), tasks=tuple(tasks), levels=("1", "2"), legacy="kernelbench-v1")
    asked = read(link("/gap", filters, id=option))
    assert asked.filters == filters
    assert asked.option("id") == option


def test_a_form_without_script_sends_one_word_for_each_box() -> None:
    asked = Asked.read("/", [("authors", value_word("authors", "a,b")), ("authors", value_word("authors", "")), ("levels", "")])
    assert asked.filters == Filters(authors=("a,b", ""))


def test_nonsense_in_an_address_is_the_default() -> None:
    asked = Asked.read("/", [("offset", "-1"), ("n", "9" * 30), ("sort", "x"), ("a.authors", "p"), ("b.levels", "2")])
    assert (asked.number("offset", 0, 10), asked.number("n", 7, 10)) == (0, 7)
    assert asked.choice("sort", ("gap",), "gap") == "gap"
    assert asked.part("a.") == Filters(authors=("p",))
    assert asked.part("b.") == Filters(levels=("2",))
    assert asked.url(offset=None, sort="gap", n=None) == "/?sort=gap&a.authors=p&b.levels=2"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


@given(TEXT, st.floats(0, 1))
def test_pieces_escape_what_they_are_given(text: str, value: float) -> None:
    tags = Tags()
    tags.feed(str(rate(value, 0.0, value, of=f"<b>{text}<script>")))
    assert tags.tags <= {"span", "small", "br", "svg", "rect", "path"}


def test_figures_in_words() -> None:
    assert "52.5\u00a0%" in share(Share.of(21, 40))
    assert "21/40" in share(Share.of(21, 40))
    assert "37.5 to 67.1\u00a0%" in share(Share.of(21, 40))
    assert rate(None).startswith('<span class="at" title="nothing counted">–')
    assert rate(float("nan")) == rate(None)
    assert (ratio(None), ratio(1.234), ratio(float("inf"))) == ("–", "1.23×", "–")
    assert "✓ verified" in badge(3, 3) and "1/3 verified" in badge(1, 3) and "self-reported" in badge(0, 3)


def test_a_board_for_spreadsheets_holds_no_formula() -> None:
    table = pl.DataFrame(
        {"author": ["=HYPERLINK(1)", "+1", "@x", "fine", "\x1b[0m"], "devices": [["a", "b"], [], ["-c"], ["d"], []]}
    )
    flat = for_spreadsheets(table)
    assert flat["author"].to_list() == ["'=HYPERLINK(1)", "'+1", "'@x", "fine", "\\x1b[0m"]
    assert flat["devices"].to_list() == ["a; b", "", "'-c", "d", ""]


def test_rows_are_sorted_and_cut_as_asked() -> None:
    columns = (Column("author", "A"), Column("gap", "G", True), Column("tiers", "T", shown=False))
    table = pl.DataFrame({"author": ["a", "b", "c"], "gap": [0.5, None, 0.9], "tiers": [["x"], ["a"], ["m"]]})
    assert [row["author"] for row in ordered(table, columns, Asked.read("/", [("sort", "gap")]), by="author").rows] == [
        "c",
        "a",
        "b",
    ]
    up = Asked.read("/", [("sort", "tiers"), ("order", "up"), ("offset", "1")])
    assert [row["author"] for row in ordered(table, columns, up, by="author").rows] == ["c", "a"]
    assert [column.key for column in chosen(columns, Asked.read("/", []))] == ["author", "gap"]
    assert [column.key for column in chosen(columns, Asked.read("/", [("cols", "tiers,nonsense")]))] == ["author", "tiers"]


def test_all_rows_together_are_the_sum_of_the_rows() -> None:
    table = pl.DataFrame(
        {"scored": [10, 4], "accepted": [9, 3], "clean": [3, 1], "refused": [7, 3], "gap": [2 / 3, 1 / 3]}  # 6 of 9 and 1 of 3
    )
    found = overall(table)
    assert (found["gap"].k, found["gap"].n) == (7, 12)
    assert (found["clean"].k, found["clean"].n, found["legacy"].k, found["legacy"].n) == (4, 14, 12, 14)
