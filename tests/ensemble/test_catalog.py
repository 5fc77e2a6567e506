"""The ensemble's size, its ids, and that no two variants are the same text under two names."""

import ast
import warnings
from collections import Counter

import pytest

from kcbench.ensemble import TORCH, TRITON, all_variants, study_tasks, variants
from kcbench.errors import KcbenchError
from kcbench.study.local import LocalSession
from kcbench.suites.source import parse
from kcbench.tasks import list_tasks

ALL = tuple(all_variants())


class _Renamed(ast.NodeTransformer):
    """Names become the order in which they occur, so that renaming makes no variant."""

    def __init__(self):
        self.names = {}

    def _name(self, name):
        return self.names.setdefault(name, f"n{len(self.names)}")

    def visit_Name(self, node):
        node.id = self._name(node.id)
        return node

    def visit_arg(self, node):
        node.arg, node.annotation = self._name(node.arg), None
        return node

    def visit_FunctionDef(self, node):
        node.name = self._name(node.name)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node):
        node.name = self._name(node.name)
        self.generic_visit(node)
        return node


def normalized(source):
    """The text without comments, docstrings and the choice of names."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [item for item in body if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))]
    return ast.dump(_Renamed().visit(tree))


def test_there_are_at_least_four_hundred():
    assert len(ALL) >= 400


@pytest.mark.parametrize("task", study_tasks())
def test_every_task_is_covered_in_both_languages(task):
    languages = Counter(variant.language for variant in variants(task))
    assert languages[TORCH] >= 20
    assert languages[TRITON] >= 3


def test_every_family_is_about_a_task_that_there_is():
    assert set(study_tasks()) <= set(list_tasks())


def test_ids_are_unique_and_say_what_a_variant_is():
    assert len({variant.id for variant in ALL}) == len(ALL)
    for variant in ALL:
        assert variant.id == f"{variant.task}/{variant.language}-{'-'.join(variant.blocks)}"


def test_no_two_variants_are_the_same_program():
    groups = Counter((variant.task, normalized(variant.source)) for variant in ALL)
    twins = {key for key, count in groups.items() if count > 1}
    assert [variant.id for variant in ALL if (variant.task, normalized(variant.source)) in twins] == []


def test_enumeration_is_the_same_each_time():
    assert [variant.id for variant in all_variants()] == [variant.id for variant in ALL]


def test_every_variant_is_a_submission():
    for variant in ALL:
        parsed = parse(variant.source)
        assert (parsed.problem, parsed.language) == ("", variant.language), variant.id


@pytest.mark.parametrize("language", [TORCH, TRITON])
def test_every_variant_loads(language, monkeypatch):
    if language == TRITON:
        pytest.importorskip("triton")
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    with warnings.catch_warnings(action="ignore"):
        for variant in ALL:
            if variant.language == language:
                with LocalSession(variant.source, interpret=language == TRITON) as session:
                    assert session.load().ok, variant.id


def test_an_unknown_task_is_said_in_one_line():
    with pytest.raises(KcbenchError, match="no variant of 'level1/nothing'"):
        list(variants("level1/nothing"))
