"""What becomes of a variant."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from kcbench.ensemble import Variant, variants
from kcbench.ensemble.examiner import Examiner
from kcbench.study import HERE
from kcbench.study.checkers import all_checkers
from kcbench.study.place import place_on

RELU = next(variant for variant in variants("level1/relu") if variant.language == "torch")
FRAME = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"
ALL = tuple(checker.id for checker in all_checkers())


def variant(expression: str) -> Variant:
    return dataclasses.replace(RELU, id="level1/relu/torch-planted", source=FRAME.replace("{}", expression))


@pytest.fixture(scope="module")
def examiner() -> Iterator[Examiner]:
    with Examiner(HERE, seed="examiner", checkers=True) as made:
        yield made


def test_an_honest_one(examiner: Examiner) -> None:
    found = examiner.examine(RELU)
    assert found.proof.proven and found.state == "clean" and not found.failed
    assert found.opinions is not None and found.opinions.accepted_by == ALL
    assert found.ruling.ratios["CMP-01"]["float32"] < 1 and found.seconds > 0


def test_one_that_is_not_proven_is_asked_about_by_nobody_else(examiner: Examiner) -> None:
    found = examiner.examine(variant("torch.relu(x) * 1.001"))
    assert not found.proof.proven and found.opinions is None
    assert found.state == "refused" and not found.wronged and not found.failed
    assert any(line.startswith("CMP-01.value: ") for line in found.findings)


def test_what_fails_in_kcbench_is_told(examiner: Examiner, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh no")

    with monkeypatch.context() as patch:
        patch.setattr("kcbench.ensemble.examiner.score_session", fail)
        found = examiner.examine(RELU)
    assert found.proof.proven and found.state == "error" and found.ruling.errors == ("ZeroDivisionError: oh no",)
    with monkeypatch.context() as patch:
        patch.setattr("kcbench.ensemble.examiner.prove", fail)
        found = examiner.examine(RELU)
    assert not found.proof.proven and found.failed and found.ruling.errors == ("ZeroDivisionError: oh no",)
    assert examiner.examine(RELU).state == "clean"


@pytest.mark.gpu
@pytest.mark.parametrize("language", ["torch", "triton"])
def test_on_a_gpu(language: str) -> None:
    chosen = next(variant for variant in variants("level1/softmax") if variant.language == language)
    with place_on("cuda") as place, Examiner(place, seed="examiner") as examiner:
        found = examiner.examine(chosen)
    assert found.proof.proven and found.state == "clean" and not found.failed, found.to_json()
