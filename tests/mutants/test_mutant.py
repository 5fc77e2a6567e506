"""Mutants: each once, always the same, in fair shares."""

from __future__ import annotations

import ast
import collections

import pytest

torch = pytest.importorskip("torch")

from kcbench.mutants import fault_classes, mutants, shared_out, subjects  # noqa: E402
from kcbench.mutants.subject import as_kernel  # noqa: E402
from kcbench.tasks import load_task  # noqa: E402

SUBJECTS = {subject.id: subject for subject in subjects(["level1/softmax", "level1/layernorm"])}
BACKWARD = SUBJECTS["level1/layernorm/custom_backward"].source
TRITON = SUBJECTS["level1/softmax/triton_online"].source


def test_they_are_the_same_each_time() -> None:
    assert list(mutants(TRITON)) == list(mutants(TRITON))


def test_none_is_the_original_and_none_comes_twice() -> None:
    found = list(mutants(TRITON))
    trees = {ast.dump(ast.parse(mutant.source)) for mutant in found}
    assert len(trees) == len(found) == len({mutant.id for mutant in found})
    assert ast.dump(ast.parse(TRITON)) not in trees


def test_layout_and_comments_do_not_matter() -> None:
    spaced = TRITON.replace("row = tl.program_id(0)", "# a comment\n    row  =  tl.program_id(0)")
    assert [mutant.source for mutant in mutants(spaced)] == [mutant.source for mutant in mutants(TRITON)]


def test_a_limited_draw_is_fair_and_depends_on_the_seed() -> None:
    some = list(mutants(BACKWARD, limit=40, seed="a"))
    assert len(some) == 40 and some == list(mutants(BACKWARD, limit=40, seed="a"))
    assert {mutant.id for mutant in some} != {mutant.id for mutant in mutants(BACKWARD, limit=40, seed="b")}
    counts = collections.Counter(mutant.fault for mutant in some)
    everything = collections.Counter(mutant.fault for mutant in mutants(BACKWARD))
    full = [counts[fault] for fault in everything if everything[fault] > counts[fault]]
    assert set(counts) == set(everything) and max(full) - min(full) <= 1


def test_operators_take_turns_within_a_class() -> None:
    found = [mutant for mutant in mutants(BACKWARD) if mutant.fault == "arithmetic"]
    operators = {mutant.operator for mutant in found}
    assert {mutant.operator for mutant in shared_out(found, len(operators), "a")} == operators


def test_more_than_there_are() -> None:
    assert list(mutants(TRITON, limit=10**6)) == list(mutants(TRITON))


def test_whatever_is_changed_in_a_backward_pass_is_a_gradient_fault() -> None:
    source = BACKWARD.splitlines()
    first = next(number for number, line in enumerate(source, 1) if "def backward" in line)
    last = next(number for number, line in enumerate(source, 1) if "class ModelNew" in line)
    inside = [mutant for mutant in mutants(BACKWARD) if first <= mutant.line < last]
    assert {mutant.fault for mutant in inside} == {"gradient"}
    assert {"other-sign", "term-dropped", "other-dim", "backward-sum"} <= {mutant.operator for mutant in inside}


def test_the_subjects_reach_every_fault_class_and_include_triton() -> None:
    assert {mutant.fault for subject in SUBJECTS.values() for mutant in mutants(subject.source)} == set(fault_classes())
    triton = [name for name, subject in SUBJECTS.items() if subject.language == "triton"]
    assert {"level1/softmax/triton_online", "level1/layernorm/triton_two_pass"} < set(triton)
    assert {name.rpartition("/")[0] for name in triton} == {subject.task.id for subject in SUBJECTS.values()}
    assert "level1/softmax/model" in SUBJECTS


def test_a_tasks_model_becomes_a_kernel() -> None:
    text = as_kernel(load_task("level1/layernorm").code)
    names: dict[str, object] = {}
    exec(compile(text, "kernel", "exec"), names)
    assert "Model" not in names and "get_inputs" not in names and "batch_size" not in names
    model = names["ModelNew"](7)  # type: ignore[operator]
    assert set(model.state_dict()) == {"norm.weight", "norm.bias"}
