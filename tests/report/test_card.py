"""Task cards: the same facts on a terminal, as Markdown and as HTML."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from kcbench.report.card import task_card
from kcbench.report.card_pages import card_html, card_markdown
from kcbench.report.catalog import GATES
from kcbench.tasks import load_task
from tests.chosen import ALL


class Text(HTMLParser):
    """The text of a page, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("task_id", ALL)
def test_every_task_has_a_card(task_id: str) -> None:
    task = load_task(task_id)
    card = task_card(task)
    assert card.summary.endswith(".") and "\n" not in card.summary
    assert [section.title for section in card.sections if section.title != "Parameters"] == [
        "Inputs",
        "Axes",
        "What a kernel owes",
    ]
    assert [name.split()[0] for name, _, _ in card.gates] == [gate.id for gate in GATES]
    compile(card.example, "example", "exec")
    page = Text(card_html(card))
    for text in (card.title, card.formula, card.summary, card.example, *(reason for _, reason in card.notes)):
        assert text in page.text
    assert "script" not in page.tags
    assert f"`{task_id}`" in card_markdown(card)


def test_an_example_runs() -> None:
    card = task_card(load_task("level1/matmul"))
    code = f"import torch\nclass ModelNew:\n    def __call__(self, A, B):\n        return A @ B\n{card.example}\nprint(tuple(y.shape))"
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(37, 53)\n"


def test_what_is_not_asked_says_why() -> None:
    softmax = load_task("level1/softmax")
    why = {name.split()[0]: why for name, _, why in task_card(softmax).gates}
    assert why["PRC-02"] == softmax.contract.reasons["PRC-02"]
    assert why["CMP-01"] == ""


def test_relations() -> None:
    task = load_task("level1/relu")
    other = dataclasses.replace(task, contract=dataclasses.replace(task.contract, kernelbench=(1, 19), repairs="level1/gelu"))
    first, second = task_card(other).relations
    assert "problem 19 of KernelBench's level 1" in first
    assert "level1/gelu" in second
    assert task_card(task).relations == ()


def test_text_of_a_task_is_escaped() -> None:
    task = load_task("level1/relu")
    hostile = dataclasses.replace(
        task, title="<script>alert(1)</script>", formula="```\n<b>", code="class Model:\n    '''``` <i>'''\n"
    )
    page = Text(card_html(task_card(hostile)))
    assert not {"script", "b", "i"} & set(page.tags)
    assert "````text\n```\n<b>\n````" in card_markdown(task_card(hostile))


def test_a_summary_without_a_docstring_is_the_title() -> None:
    for code in ("x = 1\n", "class Model:", "class Model: ..."):
        assert dataclasses.replace(load_task("level1/relu"), code=code).summary == "ReLU."
