"""A contract is tried on eager and on planted faults, and what it cannot tell apart is taken out with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from kcbench.domain.observation import Observation
from kcbench.domain.probe import Probe
from kcbench.domain.verdict import FAIL, NOT_APPLICABLE, PASS, REFERENCE_INVALID, Finding, Verdict
from kcbench.gates import gate_ids
from kcbench.infer import Inference
from kcbench.infer.selfcheck import BLIND, VALUE_GATES, Findings, Mutant, mutants, trial
from kcbench.oracle.eager import record
from kcbench.oracle.oracle import TaskOracle
from tests.infer import problems

# Mutants


def planted(outputs: Mapping[str, list[Tensor]]) -> tuple[list[Probe], dict[str, Mutant]]:
    """The mutants of some observations, by name."""
    probes = [Probe(label, {"n": 1}, "float32", {}, stream=label) for label in outputs]
    seen = {probe.id: Observation("ok", outputs=tuple(record(t) for t in outputs[probe.label])) for probe in probes}
    return probes, {mutant.name: mutant for mutant in mutants(probes, seen)}


ROWS = torch.arange(1.0, 67.0).reshape(2, 33)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("all zeros", torch.zeros(2, 33)),
        ("its mean everywhere", torch.full((2, 33), 33.5)),
        ("the last rows left zero", torch.cat([ROWS[:, :32], torch.zeros(2, 1)], 1)),
        ("one part in a thousand off", ROWS.double() * 1.001),
        ("NaN and infinities replaced by zero", ROWS),
        ("rounded to bfloat16", ROWS.bfloat16().float()),
        ("subnormal results flushed", ROWS),
        ("another value for another order", ROWS.double() * 1.01),
    ],
)
def test_what_a_mutant_does(name: str, changed: Tensor) -> None:
    (probe,), found = planted({"a": [ROWS]})
    (output,) = found[name].mutate((ROWS,), probe)
    assert torch.equal(output.double(), changed.double())


def test_mutants_of_what_is_not_finite_or_tiny() -> None:
    (probe,), found = planted({"a": [ROWS]})
    odd = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e-40, 2.0])
    cleaned = found["NaN and infinities replaced by zero"].mutate((odd,), probe)[0]
    assert torch.equal(cleaned, torch.tensor([0.0, 0.0, 0.0, 1e-40, 2.0]))
    flushed = found["subnormal results flushed"].mutate((odd,), probe)[0]
    assert flushed[3] == 0 and flushed[4] == 2


def test_a_blind_answer_is_that_to_another_input_of_the_same_shape() -> None:
    probes, found = planted({"a": [ROWS], "b": [ROWS + 1], "c": [ROWS[:1]]})
    stale = found[BLIND].mutate
    assert torch.equal(stale((ROWS,), probes[0])[0], ROWS + 1)
    assert torch.equal(stale((ROWS + 1,), probes[1])[0], ROWS)
    assert torch.equal(stale((ROWS[:1],), probes[2])[0], ROWS[:1])


def test_order_mutants_leave_the_first_order_alone() -> None:
    probes, found = planted({"as drawn": [ROWS], "permuted": [ROWS]})
    change = found["another value for another order"].mutate
    assert torch.equal(change((ROWS,), probes[0])[0], ROWS) and not torch.equal(change((ROWS,), probes[1])[0], ROWS)


def test_mutants_know_integers_and_numbers_without_dimensions() -> None:
    for output in (torch.tensor([3, 4]), torch.tensor(2.5), torch.zeros(0)):
        (probe,), found = planted({"a": [output]})
        for mutant in found.values():
            assert mutant.mutate((output,), probe)[0].shape == output.shape


def test_every_gate_that_compares_values_has_a_mutant() -> None:
    _, found = planted({"a": [ROWS]})
    assert {gate for mutant in found.values() for gate in mutant.gates} == set(VALUE_GATES) <= set(gate_ids())


# What follows


def passed(gate: str) -> Verdict:
    return Verdict(gate, PASS, checks=1)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        (Findings({"CMP-01": passed("CMP-01")}, {}, {"CMP-01": [BLIND]}), {}),
        (Findings({"PRC-01": passed("PRC-01")}, {}, {"PRC-01": ["rounded"]}), {}),
        (
            Findings({"ORD-01": Verdict("ORD-01", NOT_APPLICABLE, reason="nothing")}),
            {"ORD-01": "there is nothing to ask: nothing"},
        ),
        (
            Findings({"CMP-01": passed("CMP-01")}, {}, {"CMP-01": ["all zeros"]}),
            {"CMP-01": "the output does not depend on the inputs, so that any kernel that knows it is right"},
        ),
        (
            Findings({"CMP-03": passed("CMP-03")}, {"CMP-03": ["all zeros", "tail"]}, {"CMP-03": ["other"]}),
            {"CMP-03": "it would let these faults through: all zeros, tail"},
        ),
        (
            Findings({"PRC-01": Verdict("PRC-01", REFERENCE_INVALID, reason="too noisy")}),
            {"PRC-01": "the honest eager model does not pass: too noisy"},
        ),
        (
            Findings({"EXC-01": Verdict("EXC-01", FAIL, (Finding("value", "off"),))}),
            {"EXC-01": "the honest eager model does not pass: FAIL"},
        ),
        (Findings({"EXC-02": passed("EXC-02")}), {"EXC-02": "none of the planted faults changes the output"}),
    ],
)
def test_what_is_taken_out(findings: Findings, expected: dict[str, str]) -> None:
    assert dict(findings.untestable()) == expected


@pytest.mark.parametrize("name", ["matmul", "softmax", "sum", "conv", "linear", "cross entropy"])
def test_a_whole_contract_lets_eager_pass_and_kills_every_mutant(name: str, inferences: Callable[[str], Inference]) -> None:
    """Under another seed than the one that it was tried with."""
    task = inferences(problems.ALL[name]).task
    found = trial(TaskOracle(task, seed="another"), seconds=120.0)
    asked = [gate for gate, verdict in found.eager.items() if verdict.status != NOT_APPLICABLE]
    assert set(asked) >= {"CMP-01", "CMP-03", "PRC-01", "EXC-01"}
    assert [found.eager[gate].status for gate in asked] == [PASS] * len(asked)
    assert found.survived == {} and all(found.killed[gate] for gate in asked)
    assert {"all zeros", BLIND, "one part in a thousand off"} <= set(found.killed["CMP-01"])


def test_a_constant_problem_cannot_be_tested(inferences: Callable[[str], Inference]) -> None:
    found = trial(TaskOracle(inferences(problems.CONSTANT).task, seed="infer"), seconds=60.0, gates=("CMP-01", "PRC-01"))
    assert found.eager["CMP-01"].status == PASS
    assert BLIND not in found.killed.get("CMP-01", [])
    assert set(dict(found.untestable())) == {"CMP-01", "PRC-01"}


def test_a_loose_contract_lets_faults_through_and_says_so(inferences: Callable[[str], Inference]) -> None:
    """A noise factor of a million makes the bound useless: the trial must notice."""
    import dataclasses

    task = inferences(problems.SOFTMAX).task
    loose = dataclasses.replace(task, contract=dataclasses.replace(task.contract, noise_factor=1e6))
    found = trial(TaskOracle(loose, seed="infer"), seconds=60.0, gates=("CMP-01",))
    assert "one part in a thousand off" in found.survived["CMP-01"]
    assert "it would let these faults through" in dict(found.untestable())["CMP-01"]


def test_gates_that_are_not_reached_have_no_entry(inferences: Callable[[str], Inference]) -> None:
    assert trial(TaskOracle(inferences(problems.SUM).task, seed="infer"), seconds=-1.0).eager == {}


def test_only_what_is_asked_is_tried(inferences: Callable[[str], Inference]) -> None:
    found: Any = trial(TaskOracle(inferences(problems.SUM).task, seed="infer"), seconds=60.0, gates=("ORD-01",))
    assert list(found.eager) == ["ORD-01"] and found.killed == {"ORD-01": ["another value for another order"]}
