"""Counts by task, and records in a log."""

from __future__ import annotations

import json
import math
from typing import Any

from kcbench.ensemble import Variant
from kcbench.ensemble.proof import Proof
from kcbench.ensemble.record import Record
from kcbench.ensemble.tally import tally
from kcbench.report.proportion import Proportion
from kcbench.study.opinions import Opinions
from kcbench.study.ruling import Ruling

PROVEN = Proof((), 0.25)
UNPROVEN = Proof(("two calls on the same inputs differ",), math.inf)


def record(task: str = "relu", language: str = "torch", proof: Proof = PROVEN, **ruling: Any) -> Record:
    return Record(Variant(f"level1/{task}/{language}-x", f"level1/{task}", language, "", ("x",)), proof, Ruling(**ruling))


def test_counts() -> None:
    found = tally(
        [
            record("softmax", ratios={"CMP-01": {"float32": 0.25, "float16": 0.5}, "ORD-02": {"float32": 0.125}}),
            record(ratios={"CMP-03": {"float32": 0.75}}),
            record(language="triton", codes=("CMP-01.value",), ratios={"CMP-01": {"float32": 1.5}}),
            record(errors=("ORD-02: KeyError",)),
            # What the gates say of one that is not proven does not count.
            record(proof=UNPROVEN, codes=("CMP-01.value",), ratios={"CMP-01": {"float32": 99.0}}),
        ]
    )
    assert list(found) == ["level1/relu", "level1/softmax", "all"]
    relu, softmax, total = found.values()
    assert (relu.torch, relu.triton, relu.proven, relu.clean, relu.refused, relu.failed) == (3, 1, 3, 1, 1, 1)
    assert (relu.worst, relu.gate) == (1.5, "CMP-01") and (softmax.worst, softmax.gate) == (0.5, "CMP-01")
    assert (total.proven, total.clean, total.refusals) == (4, 2, Proportion(1, 3))
    assert (total.worst, total.gate) == (1.5, "CMP-01")


def test_of_nothing() -> None:
    [(name, count)] = tally([]).items()
    assert (name, count.proven, count.refusals, count.gate) == ("all", 0, Proportion(0, 0), "")


def test_what_is_written_is_read_back() -> None:
    opinions = Opinions(("kernelbench-v0",), ("kernelbench-v1",), {"classic-bounds": "KeyError: 'x'"})
    variant = record().variant
    for item in (
        record(codes=("CMP-01.value",), ratios={"CMP-01": {"float32": 1.5}}),
        record(proof=UNPROVEN),
        Record(variant),
        Record(variant, PROVEN, findings=("CMP-01.value: it errs",), opinions=opinions, seconds=0.25),
    ):
        data = json.loads(json.dumps(item.to_json(), allow_nan=False))
        assert Record.from_json(data, item.variant) == item
    assert (data["state"], data["proven"], data["accepted_by"]) == ("clean", True, ["kernelbench-v0"])
    assert item.failed


def test_only_one_that_is_proven_is_wronged() -> None:
    assert record(codes=("CMP-01.value",)).wronged
    assert not record(proof=UNPROVEN, codes=("CMP-01.value",)).wronged
    assert not record(codes=("CMP-01.value",), errors=("ORD-02: KeyError",)).wronged and not record().wronged
